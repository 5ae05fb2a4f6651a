/** A call whose line is dead is not waited for for ever, and one whose line is alive for as long as it takes. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ConnectionBroken, EVENT_STREAM, readToEnd } from './events.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** An answer into which a test says what it likes. */
function line() {
  const encoder = new TextEncoder();
  const state = { cancelled: false };
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
    cancel: () => {
      state.cancelled = true;
    },
  });
  const response = new Response(body, { headers: { 'content-type': EVENT_STREAM } });
  return { response, state, say: (text: string) => controller?.enqueue(encoder.encode(text)) };
}

const BEAT_MS = 15_000;

test('three beats that did not come break the connection, and its stream is let go', async () => {
  const { response, state, say } = line();
  const heard: unknown[] = [];
  const read = readToEnd(response, (step) => heard.push(step), undefined);
  const broken = expect(read).rejects.toThrow(ConnectionBroken);
  say('event: progress\ndata: {"step":1}\n\n');
  await vi.advanceTimersByTimeAsync(3 * BEAT_MS - 1);
  expect([heard, state.cancelled]).toEqual([[{ step: 1 }], false]);
  await vi.advanceTimersByTimeAsync(1);
  await broken;
  expect(state.cancelled).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test('beats alone keep it, for as long as the call takes', async () => {
  const { response, say } = line();
  const read = readToEnd(response, () => undefined, undefined);
  for (let beat = 0; beat < 100; beat++) {
    await vi.advanceTimersByTimeAsync(2 * BEAT_MS);
    say(': still there\n\n');
  }
  say('id: 7:abc\nevent: done\ndata: {"ok":true}\n\n');
  const { text, headers } = await read;
  expect([text, headers.get('x-admin-log-head')]).toEqual(['{"ok":true}', '7:abc']);
  expect(vi.getTimerCount()).toBe(0);
});

test('an abort in the silence is the reason that is told', async () => {
  const { response } = line();
  const abort = new AbortController();
  const read = readToEnd(response, () => undefined, abort.signal);
  const aborted = expect(read).rejects.toThrow('enough');
  await vi.advanceTimersByTimeAsync(BEAT_MS);
  abort.abort(new Error('enough'));
  await aborted;
  expect(vi.getTimerCount()).toBe(0);
});
