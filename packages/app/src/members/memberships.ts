/** Changes of the members of one instance, and who may invite. */
import { makeMemberships } from '@freehold/auth';
import type { PrincipalId, ScopeRef, VerticalManifest } from '@freehold/contracts';
import type { ScopeStub } from '@freehold/kernel';
import type { Services } from '../declaration/env.ts';

export function membershipsOf(
  { host, directory, manifest }: Pick<Services, 'host' | 'directory' | 'manifest'>,
  { tenant, scope }: { readonly tenant: ScopeRef['tenantId']; readonly scope: ScopeRef['scopeId'] },
) {
  const stub = host.scope(scope);
  return makeMemberships({
    directory: directory(tenant),
    scope: stub,
    scopeId: scope,
    ownerRole: manifest.ownerRole,
    mayInvite: (inviter, role) => mayInvite(manifest, stub, inviter, role),
  });
}

/** Whether a member may invite people, and holds every permission of the role that the invite gives. */
export async function mayInvite(
  { roles }: VerticalManifest,
  scope: ScopeStub,
  principal: PrincipalId,
  role: string,
): Promise<boolean> {
  // An invite outlives the version of the application that offered its role.
  if (!Object.hasOwn(roles, role)) return false;
  const { permissions } = await scope.holdings({ principal });
  return permissions.includes('member.manage') && isWithin({ roles }, role, permissions);
}

/** Whether these permissions cover a declared role: only then may their holder give it or take it. */
export function isWithin(
  { roles }: Pick<VerticalManifest, 'roles'>,
  role: string,
  permissions: readonly string[],
): boolean {
  const declared = Object.hasOwn(roles, role) ? roles[role] : undefined;
  return declared?.permissions.every((each) => permissions.includes(each)) ?? false;
}
