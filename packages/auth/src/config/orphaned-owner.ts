/**
 * Whether a delivery leaves the owner outside. Identity is issuer and subject, so that at another issuer the owner is a
 * stranger; and a claimed seat is never re-opened (spec 3.1), so that no claim link lets them back in.
 */
import type { PrincipalId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { recordEvent } from '../events/operations.ts';
import { IDENTITY_CHOICE_KEY, parseIdentityChoice } from './identity-choice.ts';
import { countMembersByIssuer, loadBoundPerson } from '../people/store.ts';
import { loadSeat } from '../seats/store.ts';

/** What a delivery can answer beside its keys. It is delivered all the same: the old issuer may be gone for good. */
export interface OwnerOrphaned {
  readonly code: 'owner_stranded';
  /** For the operator, in a sentence. */
  readonly detail: string;
  readonly owner: { readonly principal: PrincipalId; readonly name: string | null };
  /** Where the owner signs in. */
  readonly issuer: string;
  /** Members who are strangers with this delivery, the owner among them. */
  readonly stranded: number;
  /** Members who can sign in as before; 0 where the delivery does not say at which issuer people sign in. */
  readonly remaining: number;
}

/** What says how people sign in at an instance. */
const SIGN_IN_KEYS: readonly string[] = [IDENTITY_CHOICE_KEY, 'AUTH_PROVIDER', 'OIDC_ISSUER'];

type Config = Readonly<Record<string, string>>;

/** Whether a delivery is about how people sign in, also when it changes nothing: it may be repeated for its answer. */
export function concernsSignIn(patch: ReadonlyMap<string, unknown>): boolean {
  return SIGN_IN_KEYS.some((key) => patch.has(key));
}

/**
 * Who is left outside by a delivery, or null when the owner is not. Where it takes away the issuer that the owner signs
 * in at and names no other, nobody here can tell what the process is bound to, and the owner counts as left outside.
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
  const orphaned = issuer === null ? ofIssuer : all - ofIssuer;
  return {
    code: 'owner_stranded',
    detail:
      'The owner of this instance signs in elsewhere and is a stranger now, as is everybody who does. Invite the new identity first: deliver the former settings again, have the owner invite it with their own role, and then deliver these. If nobody can sign in as before, make a link with mintOwnerRecovery.',
    owner: { principal: seat.principal as PrincipalId, name: owner.name },
    issuer: owner.issuer,
    stranded: orphaned,
    remaining: issuer === null ? 0 : ofIssuer,
  };
}

/** Tells the tenant's admin of it. */
export function recordOrphanedOwner(unit: UnitContext, scopeId: string, warning: OwnerOrphaned): void {
  const { owner, stranded: orphaned } = warning;
  const subject = loadBoundPerson(unit.db, scopeId, owner.principal);
  recordEvent(unit, 'owner_stranded', {
    scopeId,
    ...(subject === undefined ? {} : { subject }),
    principal: owner.principal,
    detail: { stranded: `${orphaned}` },
  });
}

/** The issuer that the delivered settings name for people to sign in at; null when they name none that is usable. */
function issuerOf(config: Config): string | null {
  if (Object.hasOwn(config, IDENTITY_CHOICE_KEY)) return parseIdentityChoice(config)?.issuer ?? null;
  return config.AUTH_PROVIDER === 'oidc' ? config.OIDC_ISSUER || null : null;
}
