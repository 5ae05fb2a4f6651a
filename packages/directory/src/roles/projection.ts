/**
 * The projection of the platform's roles (spec C-22). One set of roles is for all verticals, and a vertical does not know the
 * permissions of the others: a scope is sent the part that its version declares.
 */
import { reconcileResponse } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { Projection } from '../projector/projection.ts';
import type { ScopeRow } from '../scopes/store.ts';
import { scopeVersionOf } from '../vertical-registry/scope-version.ts';
import { loadContent } from '../vertical-registry/versions-store.ts';
import { loadAllRoles } from './store.ts';

export interface RolesPayload {
  /** Key → permissions. */
  readonly roles: Readonly<Record<string, readonly string[]>>;
  /** The permissions that the version of the scope declares; null for a version that is not in the registry. */
  readonly declared: readonly string[] | null;
}

export const roleProjection: Projection<RolesPayload> = {
  name: 'roles',
  changedBy: ['roles.put', 'roles.delete'],
  outbox: 'role_outbox',
  byTenant: false,
  concerns: 'EXISTS (SELECT 1 FROM role_set)',
  saveRevision: (db, { revision }) =>
    db.run(
      'INSERT INTO role_set (id, revision) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET revision = excluded.revision',
      revision,
    ),
  revision: (db) => db.get<{ revision: number }>('SELECT revision FROM role_set')?.revision ?? 0,
  load: (db, scope) => ({ roles: loadAllRoles(db), declared: declaredBy(db, scope) }),
  question: ({ roles, declared }, { id, vertical }, { permissionsOf }) => {
    const platformRoles = declaredPart(roles, declared ?? permissionsOf(vertical));
    const keys = Object.keys(platformRoles);
    return {
      body: { platformRoles },
      answer: reconcileResponse
        .required({ roles: true })
        .refine((answer) => answer.scopeId === id && keys.every((key) => answer.roles.includes(key))),
      local: async (host, ref) => {
        await host.projectRolesLocal(ref, platformRoles);
        return { scopeId: ref.scopeId, roles: keys };
      },
    };
  },
  report: 'sweep-runs',
};

function declaredBy(db: SqlDatabase, scope: ScopeRow): readonly string[] | null {
  const { id } = scopeVersionOf(db, scope);
  return id === null ? null : Object.keys(loadContent(db, id).manifest.permissions);
}

/** A role without any permission of the vertical is left out. */
function declaredPart(
  roles: RolesPayload['roles'],
  declared: readonly string[] | null,
): Record<string, readonly string[]> {
  if (declared === null) return { ...roles };
  return Object.fromEntries(
    Object.entries(roles)
      .map(([key, permissions]) => [key, permissions.filter((each) => declared.includes(each))] as const)
      .filter(([, permissions]) => permissions.length > 0),
  );
}
