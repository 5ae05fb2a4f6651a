/**
 * Whether a delivery orphans the owner. Identity is issuer and subject, so at another issuer the owner is no member;
 * and a claimed seat is never re-opened (spec 3.1), so no claim link lets them back in.
 */
import type { PrincipalId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { recordEvent } from '../events/operations.ts';
import { countMembersByIssuer, loadBoundPerson } from '../people/store.ts';
import { loadSeat } from '../seats/store.ts';
import { IDENTITY_CHOICE_KEY, parseIdentityChoice } from './identity-choice.ts';

/** A warning that a delivery answers beside its keys. It is delivered all the same: the old issuer may be gone. */
export interface OwnerOrphaned {
  readonly code: 'owner_stranded';
  /** For the operator, in a sentence. */
  readonly detail: string;
  readonly owner: { readonly principal: PrincipalId; readonly name: string | null };
  readonly issuer: string;
  /** The number of members who cannot sign in after this delivery, the owner among them. */
  readonly stranded: number;
  /** The number of members who sign in as before; 0 where the delivery names no issuer for sign-in. */
  readonly remaining: number;
}

const SIGN_IN_KEYS: readonly string[] = [IDENTITY_CHOICE_KEY, 'AUTH_PROVIDER', 'OIDC_ISSUER'];

type Config = Readonly<Record<string, string>>;

/** Whether a delivery is about sign-in, also when it changes nothing: it may be repeated for its answer. */
export function concernsSignIn(patch: ReadonlyMap<string, unknown>): boolean {
  return SIGN_IN_KEYS.some((key) => patch.has(key));
}

/**
 * Returns the warning of a delivery, or null when the owner can still sign in. Where it removes the owner's issuer and
 * names no other, the process's own binding is unknown here, and the owner counts as orphaned.
 */
export function findOrphanedOwner(
  unit: UnitContext,
  { scopeId, before, after }: { readonly scopeId: string; readonly before: Config; readonly after: Config },
): OwnerOrphaned | null {
  const seat = loadSeat(unit.db, scopeId);
  const owner = seat?.state === 'claimed' ? loadBoundPerson(unit.db, scopeId, seat.principal) : undefined;
  if (seat === undefined || owner === undefined) return null;
  const issuer = issuerOf(after);
  const isOrphaned = issuer === null ? issuerOf(before) === owner.issuer : issuer !== owner.issuer;
  if (!isOrphaned) return null;
  const { all, ofIssuer } = countMembersByIssuer(unit.db, { scopeId, issuer: issuer ?? owner.issuer });
  return {
    code: 'owner_stranded',
    detail:
      'The seat of the owner is bound to a person of the former issuer, who cannot sign in as that member any more. Neither can the other members who sign in there. Invite the new identity first: deliver the former settings again, have the owner invite it with their own role, and then deliver these. If no member can sign in as before, make a link with mintOwnerRecovery.',
    owner: { principal: seat.principal as PrincipalId, name: owner.name },
    issuer: owner.issuer,
    stranded: issuer === null ? ofIssuer : all - ofIssuer,
    remaining: issuer === null ? 0 : ofIssuer,
  };
}

export function recordOrphanedOwner(unit: UnitContext, scopeId: string, warning: OwnerOrphaned): void {
  const { principal } = warning.owner;
  const subject = loadBoundPerson(unit.db, scopeId, principal);
  const detail = { stranded: `${warning.stranded}` };
  recordEvent(unit, 'owner_stranded', { scopeId, ...(subject && { subject }), principal, detail });
}

/** Returns the issuer that the settings name for sign-in; null when they name none that is usable. */
function issuerOf(config: Config): string | null {
  if (Object.hasOwn(config, IDENTITY_CHOICE_KEY)) return parseIdentityChoice(config)?.issuer ?? null;
  return config.AUTH_PROVIDER === 'oidc' ? config.OIDC_ISSUER || null : null;
}
