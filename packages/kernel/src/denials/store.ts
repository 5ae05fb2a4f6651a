/** The denial log: refused operations, written in the scope after the refused work was rolled back (spec 6.2). */
import {
  cutPage,
  type DenialRecord,
  type DenialsSummary,
  decodeCursor,
  type EntityRef,
  type Page,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';

/** A refusal, before it is written down. */
export interface Denial {
  readonly actor: string;
  readonly permission: string;
  readonly entity: EntityRef | null;
  readonly operation: string | null;
}

interface DenialRow {
  readonly id: string;
  readonly actor: string;
  readonly permission: string;
  readonly entityType: string | null;
  readonly entityId: string | null;
  readonly operation: string | null;
  readonly atMs: number;
}

const COLUMNS =
  'id, actor, permission, entity_type AS entityType, entity_id AS entityId, operation, at AS atMs';

export function makeDenialStore(db: SqlDatabase) {
  return {
    save: (id: string, denial: Denial, nowMs: number): void =>
      db.run(
        'INSERT INTO _spine_denials (id, actor, permission, entity_type, entity_id, operation, at) VALUES (?, ?, ?, ?, ?, ?, ?)',
        id,
        denial.actor,
        denial.permission,
        denial.entity?.type ?? null,
        denial.entity?.id ?? null,
        denial.operation,
        nowMs,
      ),

    newestId: (): string | undefined =>
      db.get<{ id: string }>('SELECT id FROM _spine_denials ORDER BY id DESC LIMIT 1')?.id,

    /** Newest first. */
    list: (filter: {
      actor?: string;
      permission?: string;
      limit: number;
      cursor?: string;
    }): Page<DenialRecord> => {
      const conditions: string[] = [];
      const params: string[] = [];
      const narrow = (condition: string, value: string | undefined): void => {
        if (value === undefined) return;
        conditions.push(condition);
        params.push(value);
      };
      narrow('actor = ?', filter.actor);
      narrow('permission = ?', filter.permission);
      narrow('id < ?', filter.cursor === undefined ? undefined : decodeCursor(filter.cursor));
      const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
      const rows = db.all<DenialRow>(
        `SELECT ${COLUMNS} FROM _spine_denials ${where} ORDER BY id DESC LIMIT ?`,
        ...params,
        filter.limit + 1,
      );
      return cutPage(rows, filter.limit, (row) => row.id, recordOf);
    },

    /** Refusals that unwound no operation form one null bucket, which counts like any other (spec 4.3.7). */
    summarize: (groupBy: 'actor' | 'operation'): DenialsSummary => {
      const key = groupBy === 'actor' ? 'actor, permission' : 'operation';
      const rows = db.all<{
        actor?: string;
        permission?: string;
        operation?: string | null;
        count: number;
        lastMs: number;
      }>(
        `SELECT ${key}, count(*) AS count, max(at) AS lastMs FROM _spine_denials GROUP BY ${key} ORDER BY count DESC, ${key}`,
      );
      const buckets = rows.map(({ lastMs, ...bucket }) => ({ ...bucket, lastAt: toTimestamp(lastMs) }));
      return { groupBy, total: buckets.reduce((sum, bucket) => sum + bucket.count, 0), buckets };
    },
  };
}

function recordOf(row: DenialRow): DenialRecord {
  return {
    id: row.id,
    actor: row.actor,
    permission: row.permission,
    entity: row.entityType === null ? null : { type: row.entityType, id: row.entityId as string },
    operation: row.operation,
    at: toTimestamp(row.atMs),
  };
}
