/** The names behind principals, as the tenant's identity directory knows them now. */

import type { AppContext, Services } from '../declaration/env.ts';
import { directoryOf, requireNode } from './caller.ts';

/** The number of principals that the directory names at a time. */
const NAMES_MAX = 200;

/** A person in a log, with a name where one is known. */
export interface Actor {
  readonly principal: string;
  readonly name: string | null;
}

/**
 * The actors of a log, by principal. A former member keeps the last name, because logs outlive memberships. A service
 * has its own name.
 */
export async function nameActors(
  services: Services,
  c: AppContext,
  principals: Iterable<string>,
): Promise<(principal: string) => Actor> {
  const scopeId = requireNode(c).scope;
  const people = [...new Set(principals)].filter((each) => serviceOf(each) === null);
  const names = new Map<string, string | null>();
  for (let at = 0; at < people.length; at += NAMES_MAX) {
    const { items } = await directoryOf(services, c).namePrincipals({
      scopeId,
      principals: people.slice(at, at + NAMES_MAX),
    });
    // The address of an invite is no member's name: another person may accept it.
    for (const { principal, name, email, state } of items)
      names.set(principal, name ?? (state === 'invited' ? null : email));
  }
  return (principal) => ({
    principal,
    name: serviceNameOf(services, principal) ?? names.get(principal) ?? null,
  });
}

function serviceOf(principal: string): string | null {
  return /^service:(.+)$/.exec(principal)?.[1] ?? null;
}

function serviceNameOf({ manifest }: Services, principal: string): string | null {
  const service = serviceOf(principal);
  return service === null ? null : (manifest.services?.[service]?.name ?? null);
}
