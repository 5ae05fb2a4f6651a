/** Brings the invites of a scope in line with the present rights of the members who made them. */
import { PlatformError, type PrincipalId } from '@freehold/contracts';
import type { IdentityDirectory } from '../identity-directory/unit.ts';
import type { LeftoverRole } from '../memberships/operations.ts';

export interface InviteSettlement {
  readonly directory: Pick<
    IdentityDirectory,
    'pendingInvites' | 'withdrawInvites' | 'leftoverRoles' | 'leftoverRolesTaken'
  >;
  readonly scopeId: string;
  /** Only the invites of this member. Default: all. */
  readonly inviter?: PrincipalId;
  /** Whether a member may invite a person at a role, by the member's present rights. */
  mayInvite(inviter: PrincipalId, role: string): boolean | Promise<boolean>;
  /**
   * Takes a role from a principal in the scope, or (null) every role, in the platform's name. Taking an absent one
   * succeeds. Resolves to false when it cannot be done here; then it is tried again the next time.
   */
  takeRole(leftover: LeftoverRole): Promise<boolean>;
}

/**
 * Ends the pending invites whose makers may no longer make them, and takes the roles of principals that stand for no
 * person any more. Each step can be repeated, and what an interruption left is done by the next call.
 */
export async function settleInvites(settlement: InviteSettlement): Promise<void> {
  const { directory, scopeId, inviter } = settlement;
  const pending = await directory.pendingInvites({ scopeId, ...(inviter === undefined ? {} : { inviter }) });
  const lost: PrincipalId[] = [];
  for (const invite of pending) {
    const keeps = invite.isInviterMember && (await settlement.mayInvite(invite.inviter, invite.role));
    if (!keeps) lost.push(invite.principal);
  }
  if (lost.length > 0) await directory.withdrawInvites({ scopeId, principals: lost });
  await takeLeftoverRoles(settlement);
}

/**
 * Takes the roles that the directory has noted, and forgets those that are taken. One that cannot be taken keeps none of
 * the others; it stays noted, and its failure is thrown at the end.
 */
export async function takeLeftoverRoles({
  directory,
  scopeId,
  takeRole,
}: Pick<InviteSettlement, 'scopeId' | 'takeRole'> & {
  readonly directory: Pick<IdentityDirectory, 'leftoverRoles' | 'leftoverRolesTaken'>;
}): Promise<void> {
  const taken: PrincipalId[] = [];
  const failures: unknown[] = [];
  for (const leftover of await directory.leftoverRoles({ scopeId }))
    try {
      if (await unlessUnknown(() => takeRole(leftover))) taken.push(leftover.principal);
    } catch (failure) {
      failures.push(failure);
    }
  if (taken.length > 0) await directory.leftoverRolesTaken({ scopeId, principals: taken });
  if (failures.length > 0) throw failures[0];
}

/** Takes a role. One that the scope does not know has no holder, so that it counts as taken: true. */
export async function unlessUnknown<T>(take: () => T | Promise<T>): Promise<T | true> {
  try {
    return await take();
  } catch (error) {
    if (error instanceof PlatformError && error.reason === 'unknown_role') return true;
    throw error;
  }
}
