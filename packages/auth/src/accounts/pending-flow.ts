/** What is under way in an account's name, and what makes it void. */
import type { UnitContext } from '@freehold/store';
import { directoryIssuer } from './contract.ts';
import { voidLinks } from './link-store.ts';
import { voidSecondFactors } from './pending-store.ts';

/**
 * Makes void what somebody else may have begun: links that are on their way, one that changes the address included,
 * and sign-ins that wait for a second factor. A link that takes a change of address back stays: whoever has taken an
 * account over would void it first. A person of another issuer has nothing under way here.
 */
export function voidWhatWasBegun(
  unit: UnitContext,
  { issuer, sub }: { readonly issuer: string; readonly sub: string },
): void {
  if (issuer !== directoryIssuer(unit.key)) return;
  voidLinks(unit.db, sub);
  voidSecondFactors(unit.db, sub);
}
