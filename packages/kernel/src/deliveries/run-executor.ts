/** Runs one executor on one event, with a time limit; its own calls of the scope are done once. */

import { createHash } from 'node:crypto';
import { type ActorId, type EventId, PlatformError } from '@freehold/contracts';
import type { ClaimedDelivery, DeliveryResult, ScopeStub } from '../contract/scope-methods.ts';
import { soundError } from '../lib/thrown.ts';
import type { Executor, ExecutorTools, Lanes } from '../vertical/listeners.ts';
import { describe } from './work.ts';

/** The result of an executor for its scope, and the unexpected error that it threw: the scope stores no text of it. */
export interface ExecutorEnd {
  readonly result: DeliveryResult;
  readonly thrown?: Error;
}

/** Runs an executor to its end or its time limit. Never rejects: a failure is a result. */
export async function runExecutor({
  scope,
  remove,
  lanes,
  delivery,
  stop,
  after,
  fetch,
}: {
  readonly scope: ScopeStub;
  /** Removes an attachment; undefined where there are none. */
  readonly remove: ((by: ActorId, id: string) => Promise<unknown>) | undefined;
  readonly lanes: Lanes;
  readonly delivery: ClaimedDelivery;
  readonly stop: AbortSignal;
  readonly after: (ms: number, task: () => void) => () => void;
  readonly fetch: typeof globalThis.fetch;
}): Promise<ExecutorEnd> {
  const { subscriber, event, claim, attempt } = delivery;
  const answer = { subscriber, event: event.id, claim };
  const listener = lanes.find(subscriber, event.type)?.listener;
  if (listener?.kind !== 'executor')
    return {
      result: {
        ...answer,
        error: { code: 'unsupported', detail: 'No subscriber of this name is declared any more.' },
      },
    };
  if (stop.aborted) return { result: { ...answer, handedBack: true } };
  const over = new AbortController();
  const cancel = after(listener.timeoutMs, () => over.abort());
  const signal = AbortSignal.any([over.signal, stop]);
  const deliveryKey = `${subscriber}:${event.id}`;
  try {
    const tools: ExecutorTools = {
      attempt,
      deliveryKey,
      signal,
      fetch: fetchUntil(fetch, signal),
      invoke: invokeAs(scope, listener.executor, event.id, deliveryKey),
      removeAttachment: async (id) => {
        if (!remove) throw noAttachments();
        await remove(`service:${listener.executor.as}` as ActorId, id);
      },
    };
    await Promise.race([Promise.resolve(listener.executor.run(event, tools)), aborted(signal)]);
    return { result: answer };
  } catch (thrown) {
    // An attempt that the runner interrupted does not count.
    if (stop.aborted) return { result: { ...answer, handedBack: true } };
    if (signal.aborted)
      return {
        result: { ...answer, error: { code: 'unavailable', detail: 'It was not done within its time.' } },
      };
    const error = soundError(subscriber, thrown);
    const result = { ...answer, error: describe(error) };
    return error instanceof PlatformError ? { result } : { result, thrown: error };
  } finally {
    cancel();
  }
}

/** Every call ends with the executor, whatever other signal it has. */
function fetchUntil(fetch: typeof globalThis.fetch, over: AbortSignal): typeof globalThis.fetch {
  return (target, init) => {
    const given = init?.signal ?? (target instanceof Request ? target.signal : null);
    return fetch(target, { ...init, signal: given ? AbortSignal.any([given, over]) : over });
  };
}

function noAttachments(): PlatformError {
  return new PlatformError('unsupported', 'Nothing can be attached here.', { reason: 'no_blob_store' });
}

function invokeAs(scope: ScopeStub, { as }: Executor, cause: EventId, key: string): ExecutorTools['invoke'] {
  return async (operation, input, step = operation) => {
    const principal = `service:${as}` as ActorId;
    const idempotencyKey = stepKey(key, step);
    return (await scope.invoke({ principal, operation, input, cause, idempotencyKey })).output;
  };
}

/** Returns an idempotency key in the form that a caller could send, for any name of a step. */
function stepKey(key: string, step: string): string {
  const plain = `${key}:${step}`;
  return /^[\x21-\x7e]{1,255}$/.test(plain)
    ? plain
    : `${key}:sha256:${createHash('sha256').update(step).digest('hex')}`;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(new Error('aborted'));
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
  });
}
