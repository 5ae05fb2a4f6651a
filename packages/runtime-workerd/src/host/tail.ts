/** The logs, exceptions and outcomes of a bundle. */
import { WorkerEntrypoint } from 'cloudflare:workers';
import { note } from './batch.ts';
import type { HostEnv } from './env.ts';
import { instanceOf } from './instances.ts';

/** The longest text of one line, in characters. */
const TEXT_MAX = 4_096;
/** The most console lines of one event: the rest is counted. */
const LOGS_MAX = 50;

export class Tail extends WorkerEntrypoint<HostEnv, { readonly digest: string }> {
  override tail(events: TraceItem[]): void {
    for (const event of events) this.#take(event);
  }

  #take({ logs, exceptions, outcome, durableObjectId, event }: TraceItem): void {
    const { digest } = this.ctx.props;
    // workerd says which object it was. A header of the event may be the bundle's own: it can call itself.
    const about = { digest, outcome, ...instanceOf(durableObjectId), ...traceOf(event) };
    for (const { level, message, timestamp } of logs.slice(0, LOGS_MAX))
      note(this.env, this.ctx, { kind: 'console', ...about, atMs: timestamp, level, text: textOf(message) });
    if (logs.length > LOGS_MAX)
      note(this.env, this.ctx, { kind: 'cut', ...about, lines: logs.length - LOGS_MAX });
    for (const { name, message, stack, timestamp } of exceptions)
      note(this.env, this.ctx, {
        kind: 'exception',
        ...about,
        atMs: timestamp,
        name: cut(name),
        text: cut(message),
        stack: cut(stack ?? ''),
      });
  }
}

/** The trace of the request, which the platform began or took over. One that the bundle wrote itself is its own word. */
function traceOf(event: TraceItem['event']): { readonly trace?: string } {
  if (event === null || !('request' in event)) return {};
  const trace = /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(event.request.headers.traceparent ?? '')?.[1];
  return trace === undefined ? {} : { trace };
}

function textOf(message: unknown): string {
  const parts = Array.isArray(message) ? message : [message];
  return cut(parts.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join(' '));
}

function cut(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
