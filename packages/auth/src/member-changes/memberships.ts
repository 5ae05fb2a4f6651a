/**
 * Changes of members that concern two units: the roles in the scope, the person and the invites in the identity
 * directory. Rights are taken first, so that an interruption leaves a member without rights and never a stranger with
 * some; a repeated call finishes.
 */
import { PlatformError, type PrincipalId } from '@freehold/contracts';
import type { IdentityDirectory } from '../identity-directory/unit.ts';
import { refusal } from '../lib/refusals.ts';
import { ownerSeatHeld, unknownMember } from '../memberships/operations.ts';
import { type InviteSettlement, settleInvites } from './settle-invites.ts';

/** The scope's part: a scope of the kernel has both methods. */
export interface MembershipScope {
  /** Sets the roles of a principal at once; without any, direct grants go too. Refuses what `by` may not give or take. */
  setRoles(change: {
    readonly principal: PrincipalId;
    readonly roles: readonly string[];
    readonly by: PrincipalId | 'platform';
  }): Promise<unknown>;
  assignments(input: Record<string, never>): Promise<readonly { principal: PrincipalId; role: string }[]>;
}

export interface MembershipParts {
  readonly directory: InviteSettlement['directory'] &
    Pick<
      IdentityDirectory,
      | 'findMember'
      | 'limitRoles'
      | 'namePrincipals'
      | 'noteRoles'
      | 'removeMember'
      | 'requireTransferable'
      | 'transferOwner'
    >;
  readonly scope: MembershipScope;
  readonly scopeId: string;
  /** The role of the owner: `ownerRole` of the manifest. */
  readonly ownerRole: string;
  readonly mayInvite: InviteSettlement['mayInvite'];
}

export interface MemberChange {
  readonly principal: PrincipalId;
  /** The acting member. The caller has checked that they may manage members. */
  readonly by: PrincipalId;
}

/** Returns the changes of the members of one scope. */
export function makeMemberships(parts: MembershipParts) {
  const { directory, scope, scopeId, ownerRole, mayInvite } = parts;
  const settle = (inviter?: PrincipalId): Promise<void> =>
    settleInvites({
      directory,
      scopeId,
      ...(inviter === undefined ? {} : { inviter }),
      mayInvite,
      takeRole: async ({ principal }) => {
        await scope.setRoles({ principal, roles: [], by: 'platform' });
        return true;
      },
    });

  return {
    /**
     * Sets the roles of a member, and ends the invites that they may not make any more.
     * @throws PlatformError `not_found`, reason `unknown_member`; `conflict`, reason `last_owner` for the holder of the
     * owner seat while no other member is an owner, else `owner_seat_held`, and `own_membership` for `by` themself; and as
     * the scope refuses.
     */
    async changeRoles({
      principal,
      roles,
      by,
    }: MemberChange & { readonly roles: readonly string[] }): Promise<void> {
      await requireChangeable(parts, { principal, by });
      await setRoles(parts, { principal, roles, by });
      await requireNoHolder(parts, principal);
      await settle(principal);
    },

    /**
     * Takes a member's roles and membership, and ends their invites.
     * @throws PlatformError as `changeRoles` does.
     */
    async remove({ principal, by }: MemberChange): Promise<void> {
      await requireChangeable(parts, { principal, by });
      await setRoles(parts, { principal, roles: [], by });
      await requireNoHolder(parts, principal);
      await directory.removeMember({ scopeId, principal, by });
      await settle(principal);
    },

    /**
     * Hands the owner seat to another member, who gets the role of the owner. The former holder stays a member with their
     * roles, and can be removed from then on.
     * @throws PlatformError as `transferOwner` of the identity directory does, and as the scope refuses.
     */
    async transferOwner({ to, by }: { readonly to: PrincipalId; readonly by: PrincipalId }): Promise<void> {
      await directory.requireTransferable({ scopeId, to, by });
      // The role first: a seat whose holder has no rights would be one without an owner.
      await setRoles(parts, { principal: to, roles: [ownerRole], by });
      await directory.transferOwner({ scopeId, to, by });
      // A change of the same member may have taken the role before the seat was theirs.
      await setRoles(parts, { principal: to, roles: [ownerRole], by: 'platform' });
    },

    /** Ends the invites of every member who may not make them any more. For the hook `settleInvites`. */
    settleInvites: (): Promise<void> => settle(),
  };
}

async function requireChangeable(parts: MembershipParts, { principal, by }: MemberChange): Promise<void> {
  const { directory, scopeId } = parts;
  const member = await directory.findMember({ scopeId, principal });
  if (!member) throw unknownMember();
  if (!member.owner) {
    if (principal !== by) return;
    throw refusal('conflict', 'own_membership', 'You cannot change your own membership. Ask another owner.');
  }
  if (await hasOtherOwner(parts, principal)) throw ownerSeatHeld();
  throw refusal(
    'conflict',
    'last_owner',
    'This is the only owner: without them the business would have none. Make another member an owner first.',
  );
}

/**
 * Gives the role of the owner back to a member who got the seat while their roles were taken, and refuses the change.
 * @throws PlatformError `conflict`, reason `owner_seat_held`.
 */
async function requireNoHolder(parts: MembershipParts, principal: PrincipalId): Promise<void> {
  const { directory, scopeId, ownerRole } = parts;
  if (!(await directory.findMember({ scopeId, principal }))?.owner) return;
  await setRoles(parts, { principal, roles: [ownerRole], by: 'platform' });
  throw ownerSeatHeld();
}

/**
 * Sets the roles of a member in the scope, and notes them in the directory, where a restore of a lost scope finds them. A
 * role that is taken is noted first, so that an interruption never brings it back.
 */
async function setRoles(
  { directory, scope, scopeId }: MembershipParts,
  change: Parameters<MembershipScope['setRoles']>[0],
): Promise<void> {
  const { principal, roles } = change;
  const { before } = await directory.limitRoles({ scopeId, principal, roles });
  try {
    await scope.setRoles(change);
  } catch (error) {
    // Without a refusal it is not known whether the roles were set.
    if (error instanceof PlatformError && error.status < 500)
      await directory.noteRoles({ scopeId, principal, roles: before });
    throw error;
  }
  await directory.noteRoles({ scopeId, principal, roles });
}

/** Whether another member has the role of the owner. An invite that waits is no member. */
async function hasOtherOwner({ directory, scope, scopeId, ownerRole }: MembershipParts, holder: PrincipalId) {
  const owners = (await scope.assignments({}))
    .filter(({ principal, role }) => role === ownerRole && principal !== holder)
    .map(({ principal }) => principal);
  // At most as many as can be named at a time: one is enough.
  const { items } = await directory.namePrincipals({ scopeId, principals: owners.slice(0, 200) });
  return items.some(({ state }) => state === 'member');
}
