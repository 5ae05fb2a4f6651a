/** The members of scopes for copies: a copy carries them along into another scope. */
import { PlatformError } from '@freehold/contracts';
import type { ScopeHost, ScopePeople } from '@freehold/kernel';
import type { Services } from '../declaration/env.ts';
import { settingsForScope } from './platform-hooks.ts';

export function makeScopePeople({
  directory,
  manifest,
  scope,
}: Pick<Services, 'directory' | 'manifest'> & Pick<ScopeHost, 'scope'>): ScopePeople {
  return {
    members: ({ tenantId, scopeId }) => directory(tenantId).membersForCopy({ scopeId }).catch(orIfNone([])),
    standing: ({ tenantId, scopeId }) =>
      directory(tenantId).standingForCopy({ scopeId }).catch(orIfNone(null)),
    closeWindow: async ({ tenantId, scopeId }) =>
      void (await directory(tenantId).endOwnerWindow({ scopeId })),
    moveIn: async ({ tenantId, scopeId }, { from, copied }) => {
      const tenant = directory(tenantId);
      const { members, owner } = await tenant.moveMembersIn({ scopeId, from, copied });
      await scope(scopeId).assignRole({ principal: owner, role: manifest.ownerRole, by: 'platform' });
      // The copy brought the settings of its own scope.
      const settings = settingsForScope(manifest.env, await tenant.getConfig({ scopeId }));
      await scope(scopeId).projectSettings({ settings });
      return members;
    },
  };
}

/** A tenant without instances with people has no identity directory. */
function orIfNone<T>(answer: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof PlatformError && error.reason === 'unknown_unit') return answer;
    throw error;
  };
}
