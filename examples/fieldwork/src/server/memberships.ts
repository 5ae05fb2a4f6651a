/** Changes of the members of one instance, and who may invite. */
import { makeMemberships } from '@freehold/auth';
import type { PrincipalId, ScopeRef } from '@freehold/contracts';
import type { ScopeStub } from '@freehold/kernel';
import { manifest, type RoleKey } from '../lib/manifest.ts';
import type { Services } from './env.ts';

export function membershipsOf(
  { host, directory }: Pick<Services, 'host' | 'directory'>,
  { tenant, scope }: { readonly tenant: ScopeRef['tenantId']; readonly scope: ScopeRef['scopeId'] },
) {
  const stub = host.scope(scope);
  return makeMemberships({
    directory: directory(tenant),
    scope: stub,
    scopeId: scope,
    ownerRole: manifest.ownerRole,
    mayInvite: (inviter, role) => mayInvite(stub, inviter, role),
  });
}

/** Whether a member may invite people, and holds every permission of the role that the invite gives. */
export async function mayInvite(scope: ScopeStub, principal: PrincipalId, role: string): Promise<boolean> {
  // An invite outlives the version of the application that offered its role.
  if (!Object.hasOwn(manifest.roles, role)) return false;
  const { permissions } = await scope.holdings({ principal });
  return ['member.manage', ...manifest.roles[role as RoleKey].permissions].every((each) =>
    permissions.includes(each),
  );
}
