/** Lines for the platform's telemetry: gathered in memory, sent together, dropped and counted rather than waited for. */
import type { HostEnv } from './env.ts';

export type TelemetryLine = Readonly<Record<string, unknown>> & { readonly kind: string };

type Platform = Pick<HostEnv, 'SERVICES'>;

const LINES_MAX = 2_000;
const WAIT_MS = 500;
/** A sender that was cut off with its request sends nothing: after this time another one takes over. */
const TAKE_OVER_MS = 2_000;
/** A batch that did not arrive by then was cut off with its request. */
const LOST_MS = 10_000;

let lines: TelemetryLine[] = [];
let dropped = 0;
/** When the present sender began; null for none. */
let sendingSinceMs: number | null = null;
/** Batches of which it is not known whether they arrived. */
const unconfirmed = new Set<{ readonly lines: number; readonly sinceMs: number }>();

/** Never throws, never waits. */
export function note(env: Platform, ctx: Pick<ExecutionContext, 'waitUntil'>, line: TelemetryLine): void {
  if (lines.length >= LINES_MAX) {
    dropped++;
    return;
  }
  lines.push(line);
  const nowMs = Date.now();
  if (sendingSinceMs !== null && nowMs - sendingSinceMs < TAKE_OVER_MS) return;
  sendingSinceMs = nowMs;
  ctx.waitUntil(sendSoon(env));
}

async function sendSoon(env: Platform): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  await sendLines(env);
}

/** Sends what was gathered. Never throws. */
export async function sendLines({ SERVICES }: Platform): Promise<void> {
  const nowMs = Date.now();
  for (const batch of unconfirmed) {
    if (nowMs - batch.sinceMs < LOST_MS) continue;
    unconfirmed.delete(batch);
    dropped += batch.lines;
  }
  const taken = lines;
  const batch = { lines: taken.length + dropped, sinceMs: nowMs };
  if (dropped > 0) taken.push({ kind: 'dropped', lines: dropped });
  lines = [];
  dropped = 0;
  sendingSinceMs = null;
  if (taken.length === 0) return;
  unconfirmed.add(batch);
  const body = taken.map((line) => JSON.stringify(line)).join('\n');
  const isTaken = await SERVICES.fetch('http://platform.internal/telemetry', { method: 'POST', body }).then(
    ({ ok }) => ok,
    () => false,
  );
  if (unconfirmed.delete(batch) && !isTaken) dropped += batch.lines;
}
