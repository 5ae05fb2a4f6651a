/** The access log in SQL: one row for every read of tenant data, with how much was shown (spec 6.2). */
import { ID_PREFIXES } from '@freehold/contracts';
import { defineTable, hidden, integer, nullable, text, time, type UnitContext } from '@freehold/store';
import type { AdminCall } from '../access/actors.ts';
import type { AccessLogEntry, LoggedActor, LogTarget } from '../declarations/records.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';
import type { AuditedCall } from './admin-log.ts';

const entries = defineTable('access_log', ['id'], {
  id: text(),
  atMs: time(),
  actorKind: hidden(text<LoggedActor['kind']>()),
  actor: hidden(text()),
  actorName: hidden(text()),
  token: nullable(text()),
  requestId: text('request'),
  operation: text(),
  tenant: hidden(nullable(text())),
  scope: hidden(nullable(text())),
  vertical: hidden(nullable(text())),
  other: hidden(nullable(text())),
  items: integer(),
});
const shown = entries.recording<Omit<AccessLogEntry, 'actor' | 'target'>>();

/** One row of the access log, before it is written. */
export interface AccessInput {
  readonly call: AdminCall;
  readonly target: LogTarget;
  /** The number of items that the reader was shown. */
  readonly items: number;
}

export function appendAccessLog(
  context: UnitContext,
  call: AuditedCall,
  { target, items }: Omit<AccessInput, 'call'>,
): void {
  const { actor, token, requestId, action } = call;
  entries.insert(context.db, {
    ...{ id: context.newId(ID_PREFIXES.access), atMs: context.now() },
    ...{ actorKind: actor.kind, actor: actor.id, actorName: actor.name },
    ...{ token, requestId, operation: action, items },
    ...target,
  });
}

interface AccessLogFilter extends PageRequest {
  readonly tenant?: string | undefined;
  readonly scope?: string | undefined;
  readonly actor?: string | undefined;
  readonly operation?: string | undefined;
}

export const { statement: accessLogPage, list: listAccessLog } = definePages({
  from: entries,
  where: ({ tenant, scope, actor, operation }: AccessLogFilter) => ({ tenant, scope, actor, operation }),
  key: 'id',
  order: 'DESC',
  item: (row): AccessLogEntry => ({
    ...shown(row),
    actor: { kind: row.actorKind, id: row.actor, name: row.actorName },
    target: { tenant: row.tenant, scope: row.scope, vertical: row.vertical, other: row.other },
  }),
});
