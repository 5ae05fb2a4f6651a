/** The access log in SQL: one row for every read of tenant data, with how much was shown (spec 6.2). */
import { cutPage, ID_PREFIXES, type Page, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import type { AccessLogEntry, LoggedActor, LogTarget } from '../declarations/records.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';
import type { AuditedCall } from './admin-log.ts';

const COLUMNS = `id, at, actor_kind AS actorKind, actor, actor_name AS actorName, token, request, operation,
  tenant, scope, vertical, other, items`;

interface AccessRow {
  readonly id: string;
  readonly at: number;
  readonly actorKind: LoggedActor['kind'];
  readonly actor: string;
  readonly actorName: string;
  readonly token: string | null;
  readonly request: string;
  readonly operation: string;
  readonly tenant: string | null;
  readonly scope: string | null;
  readonly vertical: string | null;
  readonly other: string | null;
  readonly items: number;
}

export function appendAccessLog(
  context: UnitContext,
  call: AuditedCall,
  { target, items }: { readonly target: LogTarget; readonly items: number },
): void {
  context.db.run(
    `INSERT INTO access_log (id, at, actor_kind, actor, actor_name, token, request, operation,
       tenant, scope, vertical, other, items) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[context.newId(ID_PREFIXES.access), context.now(), call.actor.kind, call.actor.id, call.actor.name],
    ...[call.token, call.requestId, call.action, target.tenant, target.scope, target.vertical, target.other],
    items,
  );
}

interface AccessLogFilter extends PageRequest {
  readonly tenant?: string | undefined;
  readonly scope?: string | undefined;
  readonly actor?: string | undefined;
  readonly operation?: string | undefined;
}

export function accessLogPage(filter: AccessLogFilter): Statement {
  const { tenant, scope, actor, operation } = filter;
  return pageStatement(
    {
      select: `SELECT ${COLUMNS} FROM access_log`,
      where: { tenant, scope, actor, operation },
      key: 'id',
      order: 'DESC',
    },
    filter,
  );
}

export function listAccessLog(db: SqlDatabase, filter: AccessLogFilter): Page<AccessLogEntry> {
  const { sql, params } = accessLogPage(filter);
  return cutPage(
    db.all<AccessRow>(sql, ...params),
    filter.limit,
    (row) => row.id,
    (row) => ({
      id: row.id,
      at: toTimestamp(row.at),
      actor: { kind: row.actorKind, id: row.actor, name: row.actorName },
      token: row.token,
      requestId: row.request,
      operation: row.operation,
      target: { tenant: row.tenant, scope: row.scope, vertical: row.vertical, other: row.other },
      items: row.items,
    }),
  );
}
