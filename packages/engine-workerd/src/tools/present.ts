/**
 * The check of the present state in the step that replaces it. It is a function of the caller, who is on another machine.
 * So it runs there, on fetched rows, and the object replaces its state only where the same readings give the same rows.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase, SqlRow, Swap } from '@freehold/store';
import { type AdmitStep, admitFromAfar } from './admission.ts';

export type RequirePresent = NonNullable<Parameters<Swap<unknown>>[0]>;

/** A reading of the present state, with the rows that the caller's check accepted. */
export interface PresentReading {
  readonly step: AdmitStep;
  readonly rows: readonly SqlRow[];
}

/**
 * Runs the caller's check on the present state. Returns what it read.
 * @throws the error of the check.
 */
export async function checkFromAfar(
  require: RequirePresent,
  read: (step: AdmitStep) => Promise<readonly SqlRow[]>,
): Promise<readonly PresentReading[]> {
  const readings: PresentReading[] = [];
  await admitFromAfar(require, async (steps) => {
    const step = steps.at(-1) as AdmitStep;
    const rows = await read(step);
    readings.push({ step, rows });
    return rows;
  });
  return readings;
}

/** @throws PlatformError `conflict`, reason `present_changed`, unless every reading gives the accepted rows. */
export function requireReadings(db: SqlDatabase, readings: readonly PresentReading[]): void {
  for (const { step, rows } of readings)
    if (JSON.stringify(readPresent(db, step)) !== JSON.stringify(rows))
      throw new PlatformError('conflict', 'This changed meanwhile. Nothing was replaced. Try again.', {
        reason: 'present_changed',
      });
}

/** Returns the rows of a reading. */
export function readPresent(db: SqlDatabase, step: AdmitStep): readonly SqlRow[] {
  if (step.do !== 'read') throw new TypeError('a check of the present state reads only');
  return db.all<SqlRow>(step.sql, ...step.params);
}
