/** The names behind principals, as the tenant's identity directory knows them now. */
import type { Member } from '@freehold/auth';
import { manifest } from '../manifest.ts';
import { directoryOf, type FieldworkContext, requireNode, type Services } from './env.ts';

const PAGE = 200;

/** Every member of a request's scope, by principal. A business of this kind has a few dozen. */
export async function loadMembers(
  services: Services,
  c: FieldworkContext,
): Promise<ReadonlyMap<string, Member>> {
  const directory = directoryOf(services, c);
  const scopeId = requireNode(c).scope;
  const members = new Map<string, Member>();
  let cursor: string | null = null;
  do {
    const page = await directory.listMembers({
      scopeId,
      limit: PAGE,
      ...(cursor === null ? {} : { cursor }),
    });
    for (const member of page.items) members.set(member.principal, member);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return members;
}

/** An actor as a log shows it. Who has left has no name any more; what acts by itself has that of its service. */
export function actorIn(
  members: ReadonlyMap<string, Member>,
  principal: string,
): { principal: string; name: string | null } {
  const service = /^service:(.+)$/.exec(principal)?.[1];
  if (service !== undefined)
    return {
      principal,
      name: Object.entries(manifest.services).find(([key]) => key === service)?.[1].name ?? null,
    };
  const member = members.get(principal);
  return { principal, name: member?.name ?? member?.email ?? null };
}
