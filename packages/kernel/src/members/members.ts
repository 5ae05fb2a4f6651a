/**
 * The members of a scope, as a copy carries them. The tenant's identity directory is the truth about members; a scope
 * only notes them before it is copied, so that the copy can be laid into a scope that has none of them. No name and no
 * address is noted: a person's next sign-in brings both.
 */
import { parseInput, type ScopeId, type ScopeRef } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';

/** A member in a copy. */
export interface CopiedMember {
  readonly principal: string;
  /** The person, by the issuer's word. */
  readonly issuer: string;
  readonly sub: string;
  readonly sinceMs: number;
  /** True for the holder of the owner seat. */
  readonly owner: boolean;
}

/** A principal that stands for a person: a member, the owner to come, or an invite that waits. */
export interface Standing {
  readonly principal: string;
  /** The roles that were last given to the member; null where the directory does not know. */
  readonly roles: readonly string[] | null;
  /** True for the principal of the owner seat. */
  readonly owner: boolean;
}

/** The port to the identity directories. The vertical implements it; without it, copies carry no members. */
export interface ScopePeople {
  /** Returns the present members of a scope. */
  members(ref: ScopeRef): Promise<readonly CopiedMember[]>;
  /**
   * Returns the principals that stand for a person in a scope, for a restore of one whose database is lost: they have
   * the roles that are known of them, or those of the copy, and no one else has any. Null where no directory knows the scope. A damaged directory must reject.
   */
  standing(ref: ScopeRef): Promise<readonly Standing[] | null>;
  /** Closes the time in which the first person who signs in becomes the owner. */
  closeWindow(ref: ScopeRef): Promise<void>;
  /**
   * Called when data of another scope has taken the place of a scope's own: makes its members those of the copy, and
   * gives the holder of its seat the owner's role. Who was removed from the other scope since stays outside.
   * @param copied null in copies that name none. Returns the number of members.
   */
  moveIn(
    ref: ScopeRef,
    copy: { readonly from: ScopeId; readonly copied: readonly CopiedMember[] | null },
  ): Promise<number>;
}

const noteInput = z.strictObject({
  members: z.array(
    z.strictObject({
      principal: z.string().min(1).max(128),
      issuer: z.string().min(1),
      sub: z.string().min(1),
      sinceMs: z.int(),
      owner: z.boolean(),
    }),
  ),
});

type MemberRow = Omit<CopiedMember, 'owner'> & { readonly owner: number };

export const MEMBERS_SQL = `SELECT principal, issuer, sub, since AS sinceMs, owner FROM _spine_members
  ORDER BY principal`;

/** Returns the members that a copy names; null when none were ever noted. */
export function readMembers(db: SqlDatabase): readonly CopiedMember[] | null {
  const rows = db.all<MemberRow>(MEMBERS_SQL);
  return rows.length === 0 ? null : rows.map((row) => ({ ...row, owner: row.owner === 1 }));
}

/** The scope's `noteMembers`. It writes nothing when nothing changed. */
export function makeMemberMethods(db: SqlDatabase) {
  return {
    noteMembers: (input: { readonly members: readonly CopiedMember[] }): null => {
      const { members } = parseInput('The members', noteInput, input);
      const noted = members.toSorted((a, b) => (a.principal < b.principal ? -1 : 1));
      if (JSON.stringify(noted) === JSON.stringify(readMembers(db) ?? [])) return null;
      db.run('DELETE FROM _spine_members');
      for (const { principal, issuer, sub, sinceMs, owner } of noted)
        db.run(
          'INSERT INTO _spine_members (principal, issuer, sub, since, owner) VALUES (?, ?, ?, ?, ?)',
          ...[principal, issuer, sub, sinceMs, owner ? 1 : 0],
        );
      return null;
    },
  };
}
