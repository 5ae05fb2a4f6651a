/** A copy of a whole scope on its way out (spec 4.3.2): first the row of the access log, then the bytes. */

import type { ScopeExport } from '@freehold/contracts';
import {
  EXPORT_BOOKMARK_HEADER,
  EXPORT_FORMAT_HEADER,
  EXPORT_MEDIA_TYPES,
  exportHead,
  exportQuery,
} from '@freehold/contracts';
import type { AdminCall } from '../actors.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { named, params, problems, tag } from '../declarations/scope-data.ts';
import type { EffectDeps } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import { logTargetOf } from '../scopes/target.ts';
import type { AccessInput } from '../unit.ts';
import { openScopeCopy } from '../verticals/open-copy.ts';
import { requireKnownVertical } from '../verticals/reach.ts';

export const scopesExport = adminOperation({
  name: 'scopes.export',
  summary: 'Take a copy of a scope out of the platform',
  description:
    'Everything that the scope holds at one moment, as a stream: a database file, or lines of JSON. The access log says so before the first byte leaves. Without a format, the engine’s own.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/export',
  input: { params, query: exportQuery.omit(named) },
  output: exportHead,
  bytes: {
    mediaType: { field: 'format', types: EXPORT_MEDIA_TYPES },
    headers: { [EXPORT_FORMAT_HEADER]: 'format', [EXPORT_BOOKMARK_HEADER]: 'bookmark' },
  },
  success: 200,
  builder: 'none',
  audit: 'access',
  problems,
});

/**
 * Opens a copy of the scope that a call names. The row stands even when no byte follows: that somebody asked for
 * everything is what it says.
 * @param record writes the row. When it rejects, nothing is opened.
 * @throws PlatformError as every read of the ladder does; then, and only for a vertical that nobody knows, without a
 * row.
 */
export async function exportScope(
  deps: EffectDeps,
  call: AdminCall,
  record: (read: AccessInput) => Promise<void>,
): Promise<ScopeExport> {
  const { query } = call as unknown as CallOf<typeof scopesExport>;
  const { scope } = await deps.target(call);
  requireKnownVertical(deps.gateway, scope.vertical);
  await record({ call, target: logTargetOf(scope), items: 1 });
  return openScopeCopy(deps, scope, query.format);
}
