/**
 * Whose a service token is, and what it may because of that: never more than its owner may at this moment (design:
 * control-plane, "Actors"). Somebody who left, or has another role, must not go on through a token that they made.
 */
import { PlatformError } from '@freehold/contracts';
import { memberBehind } from '../access.ts';
import type { Actor } from '../actors.ts';
import type { StaffRole } from '../declarations/staff.ts';
import type { TokenRow } from './store.ts';

export interface TokenOwner {
  /** The member of the roster. An id that was removed never comes back, so that none of its tokens does. */
  readonly id: string;
  readonly role: StaffRole;
}

/**
 * Who owns a service token that this actor makes: the member, or the owner of the token that makes it. Null where the
 * directory's roster knows nobody: for the operator's own tokens, and for whom the wiring vouches.
 * @throws PlatformError `forbidden` for whoever has no role of the staff: a token that nobody owns may do everything.
 */
export function ownerOfMade(actor: Actor): TokenOwner | null {
  if (actor.kind === 'builder' || actor.kind === 'vertical')
    throw new PlatformError('forbidden', 'Only staff of this platform have service tokens.', {
      reason: 'staff_only',
    });
  const id = memberBehind(actor);
  if (id === null || !('role' in actor) || actor.role === undefined) return null;
  return { id, role: actor.role };
}

/** What an actor has of the owner of its token: nothing where nobody owns it. Null once the owner left the roster. */
export function rightsOf({
  owner,
  ownerRole,
}: Pick<TokenRow, 'owner' | 'ownerRole'>): { readonly owner?: string; readonly role?: StaffRole } | null {
  if (owner === null) return {};
  return ownerRole === null ? null : { owner, role: ownerRole };
}
