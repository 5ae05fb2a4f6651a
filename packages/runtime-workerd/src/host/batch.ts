/** Lines for the platform's telemetry: gathered in memory, sent together, dropped and counted rather than waited for. */
import type { HostEnv } from './env.ts';

export type TelemetryLine = Readonly<Record<string, unknown>> & { readonly kind: string };

const LINES_MAX = 2_000;
const WAIT_MS = 500;
/** A sender that was cut off with its request sends nothing: after this time another one takes over. */
const TAKE_OVER_MS = 2_000;

let lines: TelemetryLine[] = [];
let dropped = 0;
/** When the present sender began; null for none. */
let sendingSinceMs: number | null = null;

/** Never throws, never waits. */
export function note(
  env: Pick<HostEnv, 'SERVICES'>,
  ctx: Pick<ExecutionContext, 'waitUntil'>,
  line: TelemetryLine,
): void {
  if (lines.length >= LINES_MAX) {
    dropped++;
    return;
  }
  lines.push(line);
  const nowMs = Date.now();
  if (sendingSinceMs !== null && nowMs - sendingSinceMs < TAKE_OVER_MS) return;
  sendingSinceMs = nowMs;
  ctx.waitUntil(send(env));
}

async function send({ SERVICES }: Pick<HostEnv, 'SERVICES'>): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  sendingSinceMs = null;
  const batch = lines;
  if (dropped > 0) batch.push({ kind: 'dropped', lines: dropped });
  lines = [];
  dropped = 0;
  const body = batch.map((line) => JSON.stringify(line)).join('\n');
  await SERVICES.fetch('http://platform.internal/telemetry', { method: 'POST', body }).catch(() => undefined);
}
