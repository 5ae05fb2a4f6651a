/** Failures of instances, for the operator: why an object did not answer is told to the host alone. */
import { PlatformError } from '@freehold/contracts';
import { storageFull } from '@freehold/store';
import { note } from './batch.ts';
import type { HostEnv } from './env.ts';

export interface FailedCall {
  readonly tenant: string;
  readonly scope: string;
  /** The request that it did not answer. */
  readonly method: 'fetch' | 'open' | 'work';
}

/** The least time between two reports of one instance and method: one that is broken fails at each request. */
const AGAIN_MS = 60_000;
/** The number of reports that are remembered. */
const KNOWN_MAX = 10_000;
const TEXT_MAX = 4_096;

const reportedAtMs = new Map<string, number>();

/** Never throws, never waits. */
export function reportFailure(
  env: Pick<HostEnv, 'SERVICES'>,
  ctx: Pick<ExecutionContext, 'waitUntil'>,
  { tenant, scope, method }: FailedCall,
  error: unknown,
): void {
  const key = `${scope} ${method}`;
  const nowMs = Date.now();
  if (nowMs - (reportedAtMs.get(key) ?? 0) < AGAIN_MS) return;
  if (reportedAtMs.size >= KNOWN_MAX) reportedAtMs.clear();
  reportedAtMs.set(key, nowMs);
  const text = (error instanceof Error ? `${error.name}: ${error.message}` : 'not an error').slice(
    0,
    TEXT_MAX,
  );
  note(env, ctx, { kind: 'failed', tenant, scope, method, text });
}

/** The problem for a caller whom an instance did not answer: it failed, perhaps because its own database is damaged. */
export function notAnswered(cause: unknown): PlatformError {
  // So workerd says it, of the instance's database and of the supervisor's.
  if (cause instanceof Error && cause.message.includes('SQLITE_FULL')) return storageFull(cause);
  return new PlatformError('unavailable', 'The application did not answer. Try again in a moment.', {
    reason: 'instance_failed',
    headers: { 'retry-after': '1' },
    cause,
  });
}
