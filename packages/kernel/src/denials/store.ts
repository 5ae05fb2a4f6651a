/** The denial log: refused operations, written in the scope after the refused work was rolled back (spec 6.2). */
import {
  cutPage,
  type DenialRecord,
  type DenialsSummary,
  decodeCursor,
  type EntityRef,
  type ProgramGrant,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { programColumn, storedProgram } from '../lib/programs.ts';
import type { Pruned, PrunedBefore, PrunedPage } from '../lib/pruned.ts';

/** A refusal, before it is written down. */
export interface Denial {
  readonly actor: string;
  readonly permission: string;
  readonly entity: EntityRef | null;
  readonly operation: string | null;
  /** The program through which it was attempted. */
  readonly program?: ProgramGrant | undefined;
}

interface DenialRow {
  readonly id: string;
  readonly actor: string;
  readonly permission: string;
  readonly entityType: string | null;
  readonly entityId: string | null;
  readonly operation: string | null;
  readonly program: string | null;
  readonly atMs: number;
}

const COLUMNS =
  'id, actor, permission, entity_type AS entityType, entity_id AS entityId, operation, program, at AS atMs';
/** Sorts after every id: ids are ASCII letters, digits and an underscore. */
const NEWEST = '~';

const list = (where: string): string =>
  `SELECT ${COLUMNS} FROM _spine_denials WHERE ${where} id < ? ORDER BY id DESC LIMIT ?`;

/** Counts over an index alone; only the newest row of each bucket is read. */
const summary = (key: string): string =>
  `SELECT ${key
    .split(', ')
    .map((column) => `bucket.${column} AS ${column}`)
    .join(', ')}, bucket.count AS count, newest.at AS lastMs
   FROM (SELECT ${key}, count(*) AS count, max(id) AS newest FROM _spine_denials GROUP BY ${key}) AS bucket
   CROSS JOIN _spine_denials AS newest ON newest.id = bucket.newest
   ORDER BY bucket.count DESC, bucket.newest DESC`;

export const DENIAL_SQL = {
  list: list(''),
  listOfActor: list('actor = ? AND'),
  listOfPermission: list('permission = ? AND'),
  listOfActorAndPermission: list('actor = ? AND permission = ? AND'),
  summaryByActor: summary('actor, permission'),
  summaryByOperation: summary('operation'),
} as const;

/** Read along the primary key when a scope is opened. */
export const NEWEST_DENIAL_SQL = 'SELECT id FROM _spine_denials ORDER BY id DESC LIMIT 1';

interface BucketRow {
  readonly actor?: string;
  readonly permission?: string;
  readonly operation?: string | null;
  readonly count: number;
  readonly lastMs: number;
}

export type DenialStore = ReturnType<typeof makeDenialStore>;

export function makeDenialStore(db: SqlDatabase, pruned: Pruned) {
  return {
    save: (id: string, denial: Denial, nowMs: number): void =>
      db.run(
        'INSERT INTO _spine_denials (id, actor, permission, entity_type, entity_id, operation, program, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
        id,
        denial.actor,
        denial.permission,
        denial.entity?.type ?? null,
        denial.entity?.id ?? null,
        denial.operation,
        programColumn(denial.program),
        nowMs,
      ),

    newestId: (): string | undefined => db.get<{ id: string }>(NEWEST_DENIAL_SQL)?.id,

    /** Returns denials, newest first. */
    list: (filter: {
      actor?: string | undefined;
      permission?: string | undefined;
      limit: number;
      cursor?: string | undefined;
    }): PrunedPage<DenialRecord> => {
      const { actor, permission, limit, cursor } = filter;
      const sql = listFor(actor !== undefined, permission !== undefined);
      const given = [actor, permission].filter((each) => each !== undefined);
      const before = cursor === undefined ? NEWEST : decodeCursor(cursor);
      const rows = db.all<DenialRow>(sql, ...given, before, limit + 1);
      return { ...cutPage(rows, limit, (row) => row.id, recordOf), ...pruned.said('denials') };
    },

    /** Counts denials, the largest bucket first. Those without an operation form one null bucket (spec 4.3.7). */
    summarize: (groupBy: 'actor' | 'operation'): DenialsSummary & PrunedBefore => {
      const sql = groupBy === 'actor' ? DENIAL_SQL.summaryByActor : DENIAL_SQL.summaryByOperation;
      const buckets = db
        .all<BucketRow>(sql)
        .map(({ lastMs, ...bucket }) => ({ ...bucket, lastAt: toTimestamp(lastMs) }));
      const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
      return { groupBy, total, buckets, ...pruned.said('denials') };
    },
  };
}

function listFor(byActor: boolean, byPermission: boolean): string {
  if (byActor) return byPermission ? DENIAL_SQL.listOfActorAndPermission : DENIAL_SQL.listOfActor;
  return byPermission ? DENIAL_SQL.listOfPermission : DENIAL_SQL.list;
}

function recordOf(row: DenialRow): DenialRecord {
  return {
    id: row.id,
    actor: row.actor,
    permission: row.permission,
    entity: row.entityType === null ? null : { type: row.entityType, id: row.entityId as string },
    operation: row.operation,
    ...storedProgram(row.program),
    at: toTimestamp(row.atMs),
  };
}
