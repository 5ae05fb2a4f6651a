/** The reads of programs, counted by operation and day: what a program looked at, for the person whose it is. */
import { toTimestamp } from '@freehold/contracts';
import { defineTable, integer, type RowOf, text, type UnitContext } from '@freehold/store';
import { loadGrant } from './store.ts';

const DAY_MS = 24 * 3_600_000;
/** A person looks back so far. */
const KEPT_DAYS = 30;
const LISTED_MAX = 500;
/** Far more than an application has operations: one that is hostile must not fill its tenant's directory. */
const OPERATIONS_MAX = 500;
const NAME = /^[\w./-]{1,100}$/;

const reads = defineTable('program_reads', ['grantId', 'day', 'operation'], {
  grantId: text(),
  /** In UTC: `2026-11-28`. */
  day: text(),
  operation: text(),
  calls: integer(),
});

export type ProgramReads = RowOf<typeof reads>;

export interface CountedReads {
  readonly grant: string;
  readonly operation: string;
  readonly calls: number;
}

export function makeReadOperations(unit: UnitContext) {
  const { db } = unit;
  const dayOf = (ms: number): string => toTimestamp(ms).slice(0, 10);
  return {
    /** Adds to the counts of this day. A grant that has ended, or is of another scope, has none. */
    noteProgramReads(input: { scopeId: string; reads: readonly CountedReads[] }): null {
      const nowMs = unit.now();
      db.run('DELETE FROM program_reads WHERE day < ?', dayOf(nowMs - KEPT_DAYS * DAY_MS));
      for (const { grant, operation, calls } of input.reads.slice(0, OPERATIONS_MAX)) {
        if (loadGrant(db, grant)?.scopeId !== input.scopeId || !NAME.test(operation)) continue;
        if (!Number.isSafeInteger(calls) || calls <= 0) continue;
        db.run(
          `INSERT INTO program_reads (grant_id, day, operation, calls) SELECT ?1, ?2, ?3, ?4
             WHERE (SELECT count(*) FROM program_reads WHERE grant_id = ?1 AND day = ?2) < ${OPERATIONS_MAX}
           ON CONFLICT (grant_id, day, operation) DO UPDATE SET calls = calls + excluded.calls`,
          grant,
          dayOf(nowMs),
          operation,
          calls,
        );
      }
      return null;
    },

    /** Returns the reads of the programs of a scope, of one member or with null of all, newest day first. A query. */
    listProgramReads(input: { scopeId: string; principal: string | null }): {
      readonly items: readonly ProgramReads[];
    } {
      return {
        items: reads.all(
          db,
          `${reads.select} WHERE grant_id IN (
             SELECT id FROM program_grants WHERE scope_id = ?1 AND (?2 IS NULL OR principal = ?2))
           ORDER BY day DESC, calls DESC LIMIT ${LISTED_MAX}`,
          input.scopeId,
          input.principal,
        ),
      };
    },
  };
}
