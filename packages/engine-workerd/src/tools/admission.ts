/**
 * Runs a judge of a staged database from another machine. The caller of a restore passes a synchronous function that
 * reads and writes the database, which is in an object elsewhere. So the function runs here, against fetched answers.
 * When it makes a reading that is not known yet, it is stopped, the answer is fetched from the staged database after
 * all earlier steps, and it runs again from its start. The result is a list of steps, which the object takes in the
 * transaction of the restore. Each answer is of the same staged database, because that is loaded from the same bytes
 * each time.
 */
import { PlatformError } from '@freehold/contracts';
import type { Admit, SqlDatabase, SqlRow, SqlValue } from '@freehold/store';

/** One step of a judge on the staged database. */
export type AdmitStep =
  | { readonly do: 'run' | 'read'; readonly sql: string; readonly params: readonly SqlValue[] }
  | { readonly do: 'exec'; readonly sql: string }
  | { readonly do: 'savepoint' | 'release' | 'undo' };

/** The judge of a staged database: recorded steps, or in the object's own isolate the function itself. */
export type Judge = readonly AdmitStep[] | Admit;

/** Each reading loads the copy once more, so a judge reads a few values and not every row. */
const READS_MAX = 50;

/** Stops a judge at a reading without an answer. */
class AnswerNeeded extends Error {
  override readonly name = 'AnswerNeeded';
}

/**
 * Runs a judge to its end.
 * @param answer reads the staged database: the rows of the last of these steps, after all before it.
 * @throws the judge's error; PlatformError `unsupported`, reason `admission_too_long`, after 50 readings.
 */
export async function admitFromAfar(
  admit: Admit,
  answer: (steps: readonly AdmitStep[]) => Promise<readonly SqlRow[]>,
): Promise<readonly AdmitStep[]> {
  const answers: (readonly SqlRow[])[] = [];
  for (;;) {
    const recording = makeRecording(answers);
    try {
      admit(recording.db);
    } catch (error) {
      if (!recording.isStopped()) throw error;
    }
    if (!recording.isStopped()) return recording.steps;
    if (answers.length >= READS_MAX) throw tooLong();
    answers.push(await answer(recording.steps));
  }
}

/** Makes a database that returns known answers, and records the steps. */
function makeRecording(answers: readonly (readonly SqlRow[])[]): {
  readonly db: SqlDatabase;
  readonly steps: readonly AdmitStep[];
  isStopped(): boolean;
} {
  const steps: AdmitStep[] = [];
  let reads = 0;
  /** Once stopped it stays stopped, even if the judge swallows the error. */
  let stopped: AnswerNeeded | undefined;
  const record = (step: AdmitStep): void => {
    if (stopped) throw stopped;
    steps.push(step);
  };
  const read = (sql: string, params: readonly SqlValue[]): readonly SqlRow[] => {
    record({ do: 'read', sql, params });
    const known = answers[reads];
    reads += 1;
    if (known) return known;
    stopped = new AnswerNeeded();
    throw stopped;
  };
  const db: SqlDatabase = {
    run: (sql, ...params) => record({ do: 'run', sql, params }),
    get: <Row>(sql: string, ...params: readonly SqlValue[]) => read(sql, params)[0] as Row | undefined,
    all: <Row>(sql: string, ...params: readonly SqlValue[]) => [...read(sql, params)] as Row[],
    exec: (sql) => record({ do: 'exec', sql }),
    savepoint: (work) => {
      record({ do: 'savepoint' });
      try {
        const value = work();
        record({ do: 'release' });
        return value;
      } catch (error) {
        if (!stopped) record({ do: 'undo' });
        throw error;
      }
    },
  };
  return { db, steps, isStopped: () => stopped !== undefined };
}

/** Rolls back a savepoint of the judge. */
class Undone extends Error {
  override readonly name = 'Undone';
}

/** Lets a judge decide, in the object. Returns the rows of the last recorded reading. */
export function takeJudge(db: SqlDatabase, judge: Judge): readonly SqlRow[] {
  if (typeof judge !== 'function') return takeSteps(db, judge);
  judge(db);
  return [];
}

/** Takes the steps, in the object. Returns the rows of the last reading. */
export function takeSteps(db: SqlDatabase, steps: readonly AdmitStep[]): readonly SqlRow[] {
  let at = 0;
  let rows: readonly SqlRow[] = [];
  const take = (): void => {
    for (; at < steps.length; at++) {
      const step = steps[at] as AdmitStep;
      if (step.do === 'run') db.run(step.sql, ...step.params);
      else if (step.do === 'read') rows = db.all<SqlRow>(step.sql, ...step.params);
      else if (step.do === 'exec') db.exec(step.sql);
      else if (step.do === 'release') return;
      else if (step.do === 'undo') throw new Undone();
      else takeSavepoint();
    }
  };
  const takeSavepoint = (): void => {
    at += 1;
    try {
      db.savepoint(take);
    } catch (error) {
      if (!(error instanceof Undone)) throw error;
    }
  };
  take();
  return rows;
}

function tooLong(): PlatformError {
  return new PlatformError(
    'unsupported',
    'This copy cannot be judged here: too much would have to be read.',
    {
      reason: 'admission_too_long',
    },
  );
}
