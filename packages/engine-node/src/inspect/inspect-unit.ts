/** Runs one read-only statement where it can be stopped (design: kernel, "Looking inside"). */
import { PlatformError } from '@freehold/contracts';
import {
  assertBindable,
  checkStatement,
  type InspectRequest,
  type InspectResult,
  StatementRefused,
} from '@freehold/store';
import {
  makeProcessPool,
  ProcessEnded,
  type ProcessPool,
  TimeLimitReached,
} from '../processes/process-pool.ts';
import { requireCopies, type UnitAccess } from '../units/unit-access.ts';

export interface InspectTask extends Omit<InspectRequest, 'timeMs'> {
  readonly database: string;
}

/** The answer of the process. `refused`: by the authorizer. `invalid`: it could not be run to its end. */
export type InspectAnswer =
  | InspectResult
  | { readonly problem: 'refused' | 'invalid'; readonly message: string };

/** The number of statements that run at once, and that wait. */
const PROCESSES_MAX = 2;
const WAITING_MAX = 32;
/** For the rows of an answer; SQLite's memory is separate. */
const HEAP_MIB = 128;
/** Limit of writable address space; Node itself needs about half a gigabyte of it, most of it unused. */
const DATA_KIB = 800 * 1024;
/** Limit of processor time over the life of a process, so that one whose parent was killed does not run for ever. */
const CPU_SECONDS = 600;
/** Limit of the files in which SQLite sorts: 256 MiB in blocks of 512 bytes. */
const FILE_BLOCKS = 512 * 1024;

/** Makes the pool. Its processes start when they are needed first, and then stay. */
export function makeInspectors(): ProcessPool {
  return makeProcessPool({
    script: new URL('./inspect-process.ts', import.meta.url),
    processesMax: PROCESSES_MAX,
    waitingMax: WAITING_MAX,
    heapMax: HEAP_MIB,
    limits: { dataKiB: DATA_KIB, cpuSeconds: CPU_SECONDS, fileBlocks: FILE_BLOCKS },
  });
}

export async function inspectUnit(
  unit: UnitAccess,
  inspectors: ProcessPool,
  { sql, params, rowsMax, bytesMax, timeMs }: InspectRequest,
): Promise<InspectResult> {
  requireCopies(unit);
  requireReading(sql, params);
  const letGo = await unit.fileLocks.take();
  try {
    const opened = unit.open();
    opened.unit.drain();
    const input: InspectTask = { database: unit.files.database, sql, params, rowsMax, bytesMax };
    const answer = await inspectors
      .run<InspectAnswer>({ task: 'inspect', input }, timeMs)
      .catch(rethrowStopped);
    if ('columns' in answer) return answer;
    throw answer.problem === 'refused' ? refused(answer.message) : invalid(answer.message);
  } finally {
    letGo();
  }
}

/** Checks the text here, the same on every engine. The authorizer checks again in the process. */
function requireReading(sql: string, params: InspectRequest['params']): void {
  try {
    assertBindable(checkStatement(sql, { protectedPrefix: '_spine_', readOnly: true }), params);
  } catch (error) {
    if (error instanceof StatementRefused) throw refused(error.message);
    if (error instanceof TypeError) throw invalid(error.message);
    throw error;
  }
}

function rethrowStopped(error: unknown): never {
  if (error instanceof TimeLimitReached)
    throw new PlatformError('validation_failed', 'The statement took too long and was stopped.', {
      reason: 'time_limit',
    });
  if (error instanceof ProcessEnded) throw invalid('it needs more memory than a statement gets');
  throw error;
}

function refused(why: string): PlatformError {
  return new PlatformError('validation_failed', `The statement is refused: ${why}.`, {
    reason: 'statement_refused',
  });
}

function invalid(why: string): PlatformError {
  return new PlatformError('validation_failed', `The statement cannot be run: ${why}.`, {
    reason: 'statement_invalid',
  });
}
