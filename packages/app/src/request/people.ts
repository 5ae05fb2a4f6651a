/** The names behind principals, as the tenant's identity directory knows them now. */

import type { IdentityDirectory } from '@freehold/auth';
import type { AppContext, Services } from '../declaration/env.ts';
import { actingCaller, directoryOf, requireNode, scopeOf } from './caller.ts';

/** The number of principals that the directory names at a time. */
const NAMES_MAX = 200;

/** A person in a log, with a name where one is known. */
export interface Actor {
  readonly principal: string;
  readonly name: string | null;
}

type KnownPerson = Awaited<ReturnType<IdentityDirectory['namePrincipals']>>['items'][number];

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
  const known: KnownPerson[] = [];
  for (let at = 0; at < people.length; at += NAMES_MAX) {
    const page = people.slice(at, at + NAMES_MAX);
    const { items } = await directoryOf(services, c).namePrincipals({ scopeId, principals: page });
    known.push(...items);
  }
  // An address stands for a missing name where the reader may see it. That of an invite is no member's name: another
  // person may accept it.
  const hasAddressAlone = ({ name, email, state }: KnownPerson) =>
    name === null && email !== null && state !== 'invited';
  const showsAddresses = known.some(hasAddressAlone) && (await managesMembers(services, c));
  const names = new Map<string, string | null>(
    known.map((each) => [each.principal, showsAddresses && hasAddressAlone(each) ? each.email : each.name]),
  );
  return (principal) => ({
    principal,
    name: serviceNameOf(services, principal) ?? names.get(principal) ?? null,
  });
}

async function managesMembers(services: Services, c: AppContext): Promise<boolean> {
  const { permissions } = await scopeOf(services, c).holdings(await actingCaller(services, c));
  return permissions.includes('member.manage');
}

function serviceOf(principal: string): string | null {
  return /^service:(.+)$/.exec(principal)?.[1] ?? null;
}

function serviceNameOf({ manifest }: Services, principal: string): string | null {
  const service = serviceOf(principal);
  return service === null ? null : (manifest.services?.[service]?.name ?? null);
}
