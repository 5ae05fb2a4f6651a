/** The record of the platform's own work, written by its wiring and never by a caller of a route. */
import { ID_PREFIXES, parseInput, scopeId, slug, tenantId } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { z } from 'zod';
import { redact } from '../lib/redact.ts';
import type { operationsLogMethods } from './operations.ts';

const word = z.string().regex(/^[a-z][a-z0-9_.-]{0,63}$/);
const id = z.string().min(1).max(128);
const about = {
  tenant: tenantId.nullable().default(null),
  scope: scopeId.nullable().default(null),
  vertical: slug.nullable().default(null),
};
const unit = { unit: id, ...about, reason: word.nullable().default(null) };

/** One unit of a sweep, with the outcomes that its kind can have (spec 6.4). */
const sweepUnit = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('connection'), ...unit, outcome: z.enum(['swept', 'skipped', 'failed']) }),
  z.strictObject({ kind: z.literal('schedule'), ...unit, outcome: z.enum(['ran', 'skipped', 'failed']) }),
  z.strictObject({ kind: z.literal('roles'), ...unit, outcome: z.enum(['swept', 'skipped', 'failed']) }),
  z.strictObject({ kind: z.literal('backup'), ...unit, outcome: z.enum(['swept', 'skipped', 'failed']) }),
  z.strictObject({ kind: z.literal('freshness'), ...unit, outcome: z.enum(['fresh', 'stale', 'failed']) }),
]);
export type SweepUnit = z.input<typeof sweepUnit>;

const opsFailure = z.strictObject({
  operation: word,
  ...about,
  subject: id.nullable().default(null),
  reason: word,
  detail: z.string().max(1000).transform(redact),
});
export type OpsFailureInput = z.input<typeof opsFailure>;

/** The result for one connection: a row of a sweep run. */
export interface ConnectionSweep {
  readonly connection: string;
  readonly tenant: string;
  readonly scope: string;
  readonly vertical: string;
  readonly provider: string;
  readonly outcome: 'swept' | 'skipped' | 'failed';
  /** `refreshed`, `verified`, `resealed`; `not_due`, `broken`; or the reason of a failure. */
  readonly reason: string;
}

/** The totals of a sweep. */
export interface SweepTotals {
  readonly run: string;
  readonly units: number;
  readonly failed: number;
}

export interface OperationsLog {
  /**
   * Writes one row for each unit that a sweep yields, in batches. The rows before an error of the sweep stay, and the error
   * goes on to the caller.
   * @throws PlatformError `validation_failed` for a unit with an outcome that its kind cannot have.
   */
  recordSweep(units: AsyncIterable<SweepUnit> | Iterable<SweepUnit>): Promise<SweepTotals>;
  /** The same for the lines of `connections.sweep()`. */
  recordConnectionSweep(lines: AsyncIterable<ConnectionSweep>): Promise<SweepTotals>;
  /** Records a failure that no caller waited for. `detail` is redacted. */
  recordOpsFailure(failure: OpsFailureInput): Promise<void>;
}

/** Rows written with one transaction. */
const BATCH = 100;

export function makeOperationsLog({
  directory,
  newId,
}: {
  readonly directory: UnitStub<ReturnType<typeof operationsLogMethods>>;
  readonly newId: (prefix: string) => string;
}): OperationsLog {
  const recordSweep: OperationsLog['recordSweep'] = async (units) => {
    const run = newId(ID_PREFIXES.request);
    const totals = { units: 0, failed: 0 };
    let batch: z.output<typeof sweepUnit>[] = [];
    const write = async (): Promise<void> => {
      const written = batch;
      batch = [];
      if (written.length > 0) await directory.recordSweep({ run, units: written });
    };
    try {
      for await (const each of units) {
        const parsed = parseInput('The unit', sweepUnit, each);
        totals.units += 1;
        if (parsed.outcome === 'failed') totals.failed += 1;
        batch.push(parsed);
        if (batch.length === BATCH) await write();
      }
    } finally {
      await write();
    }
    return { run, ...totals };
  };

  return {
    recordSweep,
    recordConnectionSweep: (lines) => recordSweep(connectionUnits(lines)),
    recordOpsFailure: async (failure) => {
      await directory.recordOpsFailures({ failures: [parseInput('The failure', opsFailure, failure)] });
    },
  };
}

/** The lines of `connections.sweep()` as units of a sweep. */
export async function* connectionUnits(
  lines: AsyncIterable<ConnectionSweep>,
): AsyncGenerator<SweepUnit, void, undefined> {
  for await (const { connection, tenant, scope, vertical, outcome, reason } of lines) {
    // A provider's module may invent reasons; an unusual word must not end the sweep.
    const known = word.safeParse(reason).data ?? 'unknown';
    yield { kind: 'connection', unit: connection, tenant, scope, vertical, outcome, reason: known } as const;
  }
}
