/** Answers as they come (spec 4.8, D-18 to D-20). */
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { failureOf, handTimer, hostFor, json, provider, refusalOf, sse, textOf } from './support.ts';
import { WIRES, type Wire } from './wires.ts';

describe.each(WIRES)('$row', (wire) => {
  test('the text comes piece by piece, and the line is recorded once, before the end (D-18, D-20)', async () => {
    const more = Promise.withResolvers<void>();
    await using server = await provider(() => trickling(wire, more.promise));
    const { host, ask, log, lines } = hostFor(wire, server.origin);

    const { text, end } = await host.stream(ask());
    const reader = text.getReader();
    expect(await reader.read()).toEqual({ done: false, value: 'Hel' });
    expect(log).toEqual(['guard']);
    more.resolve();
    expect(await reader.read()).toEqual({ done: false, value: 'lo' });
    expect(await reader.read()).toEqual({ done: true, value: undefined });

    expect(log).toEqual(['guard', 'record']);
    expect(await end).toEqual({ finish: 'stop', usage: lines[0] });
    expect(lines).toMatchObject([
      { outcome: 'completed', inputTokens: 100, cachedInputTokens: 20, outputTokens: 7, reported: true },
    ]);
  });

  test('a reader that cancels stops the provider, and what is known is on one line (D-20)', async () => {
    const left = Promise.withResolvers<void>();
    await using server = await provider((_seen, _count, signal) => {
      signal.addEventListener('abort', () => left.resolve());
      return sse(wire.pieces(['Hel', 'lo'], COUNTS).slice(0, 2), 'hang');
    });
    const { host, ask, lines } = hostFor(wire, server.origin);
    const { text, end } = await host.stream(ask());
    const reader = text.getReader();
    await reader.read();
    await reader.cancel();

    await left.promise;
    expect((await end).finish).toBe('cancelled');
    // OpenAI's formats count at the end alone; the others count the prompt with the first piece.
    const inputTokens = wire.row.startsWith('openai') ? 0 : 100;
    expect(lines).toMatchObject([{ outcome: 'cancelled', inputTokens, reported: false }]);
  });

  test('a reader that cancels while it waits for more leaves one line', async () => {
    await using server = await provider(() => sse(wire.pieces(['Hel', 'lo'], COUNTS).slice(0, 2), 'hang'));
    const { host, ask, lines } = hostFor(wire, server.origin);
    const { text, end } = await host.stream(ask());
    const reader = text.getReader();
    await reader.read();
    // There may be another piece on the way; the read after it waits for what never comes.
    const waiting = Promise.all([reader.read(), reader.read()]);
    waiting.catch(() => undefined);
    await turn();
    await reader.cancel();
    await end;
    await turn();
    expect(lines).toMatchObject([{ outcome: 'cancelled', reported: false }]);
  });

  test('a stream that ends before it is finished fails, and is not taken for a whole answer', async () => {
    await using server = await provider(() => sse(wire.pieces(['Hel', 'lo'], COUNTS).slice(0, -1)));
    const { host, ask, lines } = hostFor(wire, server.origin);
    const { text, end } = await host.stream(ask());
    expect(await refusalOf(textOf(text))).toMatchObject({ code: 'runtime_fault', reason: 'model_answer' });
    expect(await refusalOf(end)).toMatchObject({ reason: 'model_answer' });
    const inputTokens = wire.row.startsWith('openai') ? 0 : 100;
    expect(lines).toMatchObject([{ outcome: 'failed', inputTokens, reported: false }]);
  });

  test('a connection that breaks is a failure, with a line', async () => {
    const more = Promise.withResolvers<void>();
    await using server = await provider(() => trickling(wire, more.promise, 'break'));
    const { host, ask, lines } = hostFor(wire, server.origin);
    const { text } = await host.stream(ask());
    more.resolve();
    expect(await refusalOf(textOf(text))).toMatchObject({ reason: 'model_answer' });
    expect(lines).toMatchObject([{ outcome: 'failed', reported: false }]);
  });

  test('a piece that is no JSON is a failure, with a line', async () => {
    const pieces = wire.pieces(['Hel', 'lo'], COUNTS);
    await using server = await provider(() =>
      sse([...pieces.slice(0, 2), 'data: {"half\n\n', ...pieces.slice(2)]),
    );
    const { host, ask, lines } = hostFor(wire, server.origin);
    const { text } = await host.stream(ask());
    expect(await refusalOf(textOf(text))).toMatchObject({ code: 'runtime_fault', reason: 'model_answer' });
    expect(lines).toMatchObject([{ outcome: 'failed', reported: false }]);
  });

  test('an answer without text ends at once, with its line', async () => {
    await using server = await provider(() => sse(wire.pieces([], { input: 4, output: 0 })));
    const { host, ask, lines } = hostFor(wire, server.origin);
    const { text, end } = await host.stream(ask());
    expect(lines).toHaveLength(1);
    expect(await textOf(text)).toBe('');
    expect(await end).toMatchObject({ usage: { inputTokens: 4, reported: true } });
    expect(lines).toHaveLength(1);
  });

  test('the next piece has a time limit of its own, and a slow reader has none', async () => {
    const timer = handTimer();
    await using server = await provider(() => sse(wire.pieces(['Hel', 'lo'], COUNTS).slice(0, -1), 'hang'));
    const { host, ask, lines } = hostFor(wire, server.origin, { setTimer: timer.setTimer });
    const { text } = await host.stream(ask());
    const reader = text.getReader();
    expect((await reader.read()).value).toBe('Hel');
    expect(timer.isSet()).toBe(false);
    expect((await reader.read()).value).toBe('lo');
    const waiting = reader.read();
    waiting.catch(() => undefined);
    await timer.armed();
    timer.fire();
    expect(await refusalOf(waiting)).toMatchObject({ code: 'unavailable', reason: 'model_timeout' });
    expect(lines).toMatchObject([{ outcome: 'failed', reported: false }]);
  });

  test('a line that cannot be recorded fails the stream before its end (D-19)', async () => {
    await using server = await provider(() => sse(wire.pieces(['Hel', 'lo'], COUNTS)));
    const lost = new Error('the ledger is closed');
    const { host, ask } = hostFor(wire, server.origin, { record: () => Promise.reject(lost) });
    const { text, end } = await host.stream(ask());
    expect(await failureOf(textOf(text))).toBe(lost);
    expect(await failureOf(end)).toBe(lost);
  });

  test('a line that cannot be recorded fails the cancellation (D-19)', async () => {
    await using server = await provider(() => sse(wire.pieces(['Hel', 'lo'], COUNTS).slice(0, 2), 'hang'));
    const lost = new Error('the ledger is closed');
    const { host, ask } = hostFor(wire, server.origin, { record: () => Promise.reject(lost) });
    const { text, end } = await host.stream(ask());
    expect(await failureOf(text.cancel())).toBe(lost);
    expect(await failureOf(end)).toBe(lost);
  });
});

test('an error in the middle of a stream is judged like an answer with that status', async () => {
  const wire = wireOf('anthropic');
  const broken = `event: error\ndata: ${JSON.stringify(wire.error('overloaded_error', 'Overloaded'))}\n\n`;
  await using server = await provider(() => sse([...wire.pieces(['Hel', 'lo'], COUNTS).slice(0, 2), broken]));
  const { host, ask, lines } = hostFor(wire, server.origin);
  const { text } = await host.stream(ask());
  expect(await refusalOf(textOf(text))).toMatchObject({ code: 'unavailable', reason: 'model_unavailable' });
  expect(lines).toMatchObject([{ outcome: 'failed', inputTokens: 100, reported: false }]);
});

test('a stream of several steps gives the text of all and one line for all', async () => {
  const wire = wireOf('anthropic');
  const call = [
    ['message_start', { message: { ...(wire.toolCall({ input: 10, output: 1 }) as object), content: [] } }],
    [
      'content_block_start',
      { index: 0, content_block: { type: 'tool_use', id: 't1', name: 'look', input: {} } },
    ],
    ['content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: '{}' } }],
    ['content_block_stop', { index: 0 }],
    ['message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 4 } }],
    ['message_stop', {}],
  ].map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...(data as object) })}\n\n`);
  await using server = await provider((_, count) =>
    sse(count === 1 ? call : wire.pieces(['It was ', 'sent.'], { input: 30, output: 5 })),
  );
  const { host, ask, lines } = hostFor(wire, server.origin);
  const { text } = await host.stream(
    ask({
      tools: { look: { description: 'Looks.', input: z.object({}), run: () => 'sent' } },
    }),
  );
  expect(await textOf(text)).toBe('It was sent.');
  expect(lines).toMatchObject([{ inputTokens: 40, outputTokens: 9, reported: true, outcome: 'completed' }]);
});

test('a stream can be a response body, and a visitor that leaves ends the call', async () => {
  const wire = wireOf('openai-compatible');
  await using server = await provider(() => sse(wire.pieces(['Hel', 'lo'], COUNTS).slice(0, 2), 'hang'));
  const { host, ask, lines } = hostFor(wire, server.origin);
  const { text, end } = await host.stream(ask());
  const response = new Response(text.pipeThrough(new TextEncoderStream()));
  const reader = response.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('Hel');
  await reader?.cancel();
  expect((await end).finish).toBe('cancelled');
  expect(lines).toMatchObject([{ outcome: 'cancelled' }]);
});

test('a server that speaks Chat Completions is asked to count, which it does not by itself', async () => {
  const wire = wireOf('openai-compatible');
  await using server = await provider(() => sse(wire.pieces(['Hello'], COUNTS)));
  const { host, ask } = hostFor(wire, server.origin);
  await textOf((await host.stream(ask())).text);
  expect(server.seen[0]?.body.stream_options).toEqual({ include_usage: true });
});

test('an answer that is no stream of events is not understood', async () => {
  const wire = wireOf('openai-compatible');
  await using server = await provider(() => json(wire.whole('Hello', COUNTS)));
  const { host, ask, lines } = hostFor(wire, server.origin);
  expect(await refusalOf(host.stream(ask()))).toMatchObject({ reason: 'model_answer' });
  expect(lines).toMatchObject([{ outcome: 'failed', reported: false }]);
});

const COUNTS = { input: 100, cached: 20, output: 7 };

function wireOf(row: string): Wire {
  const wire = WIRES.find((each) => each.row === row);
  if (!wire) throw new Error(`no wire ${row}`);
  return wire;
}

/** Sends the first text, and the rest when told to. */
function trickling(wire: Wire, more: Promise<void>, last: 'end' | 'break' = 'end'): Response {
  const pieces = wire.pieces(['Hel', 'lo'], COUNTS);
  const first = pieces.findIndex((piece) => piece.includes('Hel'));
  let i = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (i === first + 1) {
        await more;
        if (last === 'break') return controller.error(new Error('broken'));
      }
      const piece = pieces[i++];
      if (piece === undefined) return controller.close();
      controller.enqueue(new TextEncoder().encode(piece));
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}
