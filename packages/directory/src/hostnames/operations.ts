/** What can be done with host names. */
import { PlatformError } from '@freehold/contracts';
import type { Actor } from '../actors.ts';
import { hostnamesBind, hostnamesList, hostnamesSetStatus } from '../declarations/hostnames.ts';
import type { HostnameRecord } from '../declarations/records.ts';
import { type AuditEntry, type Change, change, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { requireScope } from '../scopes/store.ts';
import { requireActiveTenant } from '../tenants/store.ts';
import { isPlatformGiven, isReserved, parseHostname, refuseBareSuffix } from './host-name.ts';
import {
  type HostnameRow,
  hostnameOfRow,
  insertHostname,
  listHostnames,
  loadHostname,
  updateHostnameStatus,
} from './store.ts';

const TRANSITIONS: Readonly<Record<HostnameRecord['status'], readonly HostnameRecord['status'][]>> = {
  pending: ['active'],
  active: ['disabled'],
  disabled: ['active'],
};

export const readHostnames = read(hostnamesList, ({ db }, { query }) => ({
  value: listHostnames(db, query),
}));

export const bindHostname = change(hostnamesBind, (context, { body, ifMatch }) => {
  const { db, facts } = context;
  const hostname = parseHostname(body.hostname);
  refuseBareSuffix(hostname);
  const { tenant } = body;
  if (tenant === undefined)
    throw new PlatformError('validation_failed', 'The body is not valid. tenant: must be named', {
      errors: [{ path: 'tenant', message: 'must be named' }],
    });
  const scope = requireScope(db, { tenant, scope: body.scope });
  const found = loadHostname(db, hostname);
  // Whose it is stays untold: a name must not become a way to ask who else is a customer here.
  const ours = found?.tenant === tenant ? found : undefined;
  requireMatch(ifMatch, ours ? String(ours.revision) : null);
  if (ours && ours.scope === scope.id && ours.surface === body.surface) return answer(200, ours, null);
  if (found || isReserved(hostname, facts))
    throw new PlatformError('conflict', 'This host name is bound already.', { reason: 'hostname_taken' });
  requireActiveTenant(db, tenant);
  const nowMs = context.now();
  const row: HostnameRow = {
    hostname,
    tenant: scope.tenant,
    scope: scope.id,
    surface: body.surface,
    status: isPlatformGiven(hostname, facts.baseDomains) ? 'active' : 'pending',
    revision: context.revision,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  insertHostname(db, row);
  return answer(201, row, { target: targetOf(row, scope.vertical), before: null, after: auditFields(row) });
});

export const setHostnameStatus = change(hostnamesSetStatus, (context, { body, actor, ifMatch }) => {
  const before = requireHostname(context.db, parseHostname(body.hostname), actor);
  requireMatch(ifMatch, String(before.revision));
  if (!TRANSITIONS[before.status].includes(body.status))
    throw new PlatformError(
      'invalid_transition',
      `A host name that is ${before.status} cannot become ${body.status}.`,
    );
  // Activating a pending name is vouching for it. A builder who could do that could serve under anybody's name.
  if (before.status === 'pending' && actor.kind === 'builder')
    throw new PlatformError('forbidden', 'This host name has to be verified before it can be active.', {
      reason: 'verification_required',
    });
  const after: HostnameRow = {
    ...before,
    status: body.status,
    revision: context.revision,
    updatedAtMs: context.now(),
  };
  updateHostnameStatus(context.db, after);
  const { vertical } = requireScope(context.db, after);
  const audit = { target: targetOf(after, vertical), before: auditFields(before), after: auditFields(after) };
  return answer(200, after, audit);
});

function requireHostname(
  db: Parameters<typeof loadHostname>[0],
  hostname: string,
  actor: Actor,
): HostnameRow {
  const row = loadHostname(db, hostname);
  if (!row || (actor.kind === 'builder' && actor.tenant !== row.tenant))
    throw new PlatformError('not_found', 'There is no such host name.', { reason: 'unknown_hostname' });
  return row;
}

function answer(status: 200 | 201, row: HostnameRow, audit: AuditEntry | null): Change<HostnameRecord> {
  const value = hostnameOfRow(row);
  return { status, value, etag: value.etag, audit, rerouted: audit !== null };
}

function targetOf(row: HostnameRow, vertical: string): AuditEntry['target'] {
  return { tenant: row.tenant, scope: row.scope, vertical, other: row.hostname };
}

function auditFields({ hostname, surface, status }: HostnameRow): AuditEntry['after'] {
  return { hostname, surface, status };
}
