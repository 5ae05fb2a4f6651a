/** The outside systems: executors that work, fail, hang and are late, as the seed decides. */
import { type EventRecord, PlatformError } from '@freehold/contracts';
import type { ExecutorTools } from '@freehold/kernel';
import { EXECUTORS, inputOf, type Outside } from './ledger/ledger.ts';
import type { Random } from './lib/random.ts';
import type { Life, Scheduler } from './lib/scheduler.ts';

export interface SimulatedOutside {
  /** The systems as one process sees them: its pending answers die with it. */
  seenFrom(life: Life): Outside;
  /** Whether a delivery succeeded at least once. */
  readonly wasDone: (subscriber: string, event: string) => boolean;
  /** From now on everything works. */
  calmDown(): void;
}

type Mood = 'works' | 'works and calls' | 'fails' | 'breaks' | 'hangs' | 'is late';

export function makeOutside(random: Random, scheduler: Scheduler): SimulatedOutside {
  const done = new Set<string>();
  let isCalm = false;

  const moodOf = (): Mood =>
    isCalm
      ? 'works and calls'
      : random.weighted([
          { weight: 30, value: 'works' },
          { weight: 25, value: 'works and calls' },
          { weight: 12, value: 'fails' },
          { weight: 6, value: 'breaks' },
          { weight: 6, value: 'hangs' },
          { weight: 6, value: 'is late' },
        ]);

  const deliver = async (
    life: Life,
    executor: string,
    event: EventRecord,
    tools: ExecutorTools,
  ): Promise<void> => {
    const mood = moodOf();
    const { timeoutMs = 0 } = EXECUTORS[executor] ?? {};
    const wait = (ms: number): Promise<void> =>
      new Promise((resolve) => scheduler.after(life, ms, `${executor} ${mood}`, resolve));
    if (mood === 'hangs') return new Promise(() => undefined);
    await wait(mood === 'is late' ? timeoutMs + random.between(1, 60_000) : random.between(0, 500));
    if (mood === 'fails')
      throw new PlatformError('unavailable', 'The office is closed.', { reason: 'nobody_in' });
    if (mood === 'breaks') throw new Error('the executor broke');
    if (mood === 'works and calls') {
      const id = `sent/${executor}/${event.id}`;
      await tools.invoke('invoice/write', inputOf(id, event.id, [{ do: 'put', id, value: 'sent' }]));
      await wait(random.between(0, 100));
    }
    done.add(`${executor} ${event.id}`);
  };

  return {
    seenFrom: (life) => ({ deliver: (executor, event, tools) => deliver(life, executor, event, tools) }),
    wasDone: (subscriber, event) => done.has(`${subscriber} ${event}`),
    calmDown: () => {
      isCalm = true;
    },
  };
}
