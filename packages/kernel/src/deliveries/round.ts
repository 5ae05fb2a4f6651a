/** One scope's work, once: for where an alarm wakes a scope instead of a timer that a process keeps. */
import type { IncidentSink } from '@freehold/store';
import type { ScopeStub } from '../scope-host.ts';
import type { Vertical } from '../vertical.ts';
import { type DeliveryRunnerOptions, makeDeliveryRunner } from './runner.ts';

export interface DeliveryRoundOptions {
  readonly vertical: Vertical;
  readonly scope: ScopeStub;
  readonly scopeId: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onIncident: IncidentSink;
  /** Where bytes are swept that nothing holds, once a day. Default: nowhere. */
  readonly attachments?: DeliveryRunnerOptions['attachments'];
}

/**
 * Does everything that is due in a scope, its executors included, and answers when there is work again: milliseconds
 * since the epoch, or null when nothing waits.
 */
export async function runDeliveries(options: DeliveryRoundOptions): Promise<number | null> {
  const { vertical, scope, scopeId, now, onIncident, attachments } = options;
  const waiting = new Set<{ readonly atMs: number }>();
  const runner = makeDeliveryRunner({
    vertical,
    scope: () => scope,
    now,
    onIncident,
    ...(attachments ? { attachments } : {}),
    after: (ms, task) => {
      const timer = { atMs: now() + ms };
      const handle = setTimeout(() => {
        waiting.delete(timer);
        task();
      }, ms);
      waiting.add(timer);
      return () => {
        clearTimeout(handle);
        waiting.delete(timer);
      };
    },
  });
  runner.wake(scopeId);
  await runner.idle();
  // Executors have ended, so that only the wait for the next round is left.
  const next = Math.min(...[...waiting].map(({ atMs }) => atMs));
  await runner.stop();
  return Number.isFinite(next) ? next : null;
}
