/** Follows long work that a command began: progress on the terminal, and its record at the end. */
import { PlatformError } from '@freehold/contracts';
import { type Caller, ControlPlaneError } from '@freehold/control-plane/client';
import { adminOperations, type OperationRecord } from '@freehold/directory/declarations';
import type { World } from '../lib/world.ts';
import { progressText } from '../output/progress.ts';

/** The time that one request waits: short where a person watches the progress. */
const WAIT_WATCHED = '2s';
const WAIT = '30s';

interface Following {
  readonly call: Caller;
  readonly world: World;
  /** The name of the work, for its progress. */
  readonly name: string;
}

/** The commands that follow work, and call it off. */
export function laterText(id: string): string {
  return `Follow it with freehold operations get ${id} --wait 30s, call it off with freehold operations cancel ${id}.`;
}

/**
 * Waits for the end of work. Ctrl-C ends the waiting, not the work.
 * @throws ControlPlaneError what ended work that failed; PlatformError `internal` for work that was called off.
 */
export async function followWork(
  { call, world, name }: Following,
  begun: OperationRecord,
): Promise<OperationRecord> {
  const { id } = begun;
  let record = begun;
  try {
    while (record.finishedAt === null) {
      world.progress(progressText(name, record.progress));
      const wait = world.isWatched ? WAIT_WATCHED : WAIT;
      const { value } = await call(adminOperations['operations.get'], {
        params: { operation: id },
        query: { wait },
      });
      record = value as OperationRecord;
    }
  } catch (error) {
    world.say(`The work goes on. ${laterText(id)}`);
    throw error;
  }
  world.progress(null);
  if (record.state === 'done') return record;
  if (record.problem)
    throw new ControlPlaneError(record.problem.detail, {
      status: record.problem.status,
      problem: record.problem,
      requestId: record.problem.requestId ?? null,
    });
  throw new PlatformError('internal', `${id} was called off.`, { reason: record.state });
}
