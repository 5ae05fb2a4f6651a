/** Failures of a provider, in the platform's words (spec 2.7, 4.8). */
import { describe, expect, test } from 'vitest';
import { listen } from '../mcp/listen.ts';
import {
  deserted,
  failureOf,
  handTimer,
  hostFor,
  json,
  PROMPT,
  provider,
  refusalOf,
  wordsOf,
} from './support.ts';
import { KEY, WIRES } from './wires.ts';

const SECRET_OF_THE_PROVIDER = 'org-acme, project 17';

const REFUSALS = [
  { status: 401, code: 'unavailable', reason: 'model_credentials' },
  { status: 403, code: 'unavailable', reason: 'model_credentials' },
  { status: 402, code: 'unavailable', reason: 'model_quota' },
  { status: 429, word: 'insufficient_quota', code: 'unavailable', reason: 'model_quota' },
  { status: 429, code: 'rate_limited', reason: 'model_rate_limited' },
  { status: 404, code: 'unsupported', reason: 'model_unknown' },
  { status: 413, code: 'payload_too_large', reason: 'model_context' },
  { status: 400, word: 'context_length_exceeded', code: 'payload_too_large', reason: 'model_context' },
  {
    status: 400,
    text: 'prompt is too long: 210000 tokens > 200000 maximum',
    code: 'payload_too_large',
    reason: 'model_context',
  },
  {
    status: 400,
    text: 'The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).',
    code: 'payload_too_large',
    reason: 'model_context',
  },
  { status: 400, word: 'content_policy_violation', code: 'forbidden', reason: 'model_refused' },
  { status: 400, code: 'runtime_fault', reason: 'model_request' },
  { status: 500, code: 'unavailable', reason: 'model_unavailable' },
  { status: 529, word: 'overloaded_error', code: 'unavailable', reason: 'model_unavailable' },
  { status: 504, code: 'unavailable', reason: 'model_timeout' },
  { status: 302, code: 'runtime_fault', reason: 'model_answer' },
] as const;

describe.each(WIRES)('$row', (wire) => {
  test.each(REFUSALS)('status $status $word $text is $code, $reason, and costs nothing', async (refusal) => {
    const { status, code, reason } = refusal;
    const word = 'word' in refusal ? refusal.word : 'some_error';
    const text = 'text' in refusal ? refusal.text : 'no';
    const body = wire.error(word, `${text} (${SECRET_OF_THE_PROVIDER})`);
    await using server = await provider(() =>
      json(body, status, { 'retry-after': '7', location: 'http://127.0.0.1:1/elsewhere' }),
    );
    for (const way of ['run', 'stream'] as const) {
      const { host, ask, lines } = hostFor(wire, server.origin);
      const error = await refusalOf(host[way](ask()));
      expect(error).toMatchObject({ code, reason });
      expect(lines).toEqual([]);
      expect(error.headers).toEqual(
        code === 'rate_limited' || code === 'unavailable' ? { 'retry-after': '7' } : undefined,
      );
      expectNoSecretsIn(error);
    }
    // Once for each: nothing is repeated that may be paid for twice.
    expect(server.seen).toHaveLength(2);
  });

  test('a redirect is not followed: the key stays where it was sent', async () => {
    const elsewhere: unknown[] = [];
    await using other = await listen((request) => {
      elsewhere.push(request.headers.get(wire.credential));
      return json(wire.whole('Hello', { input: 1, output: 1 }));
    });
    await using server = await provider(() => json('', 307, { location: `${other.origin}/v1` }));
    const { host, ask } = hostFor(wire, server.origin);
    expect(await refusalOf(host.run(ask()))).toMatchObject({ reason: 'model_answer' });
    expect(elsewhere).toEqual([]);
  });

  test.each(['{"half": ', '[]', '"text"', '{}'])(
    'an answer of %s cannot be understood, and may have cost',
    async (body) => {
      await using server = await provider(() => json(`${body}`));
      const { host, ask, lines } = hostFor(wire, server.origin);
      const error = await refusalOf(host.run(ask()));
      // OpenAI's library takes an answer without output for a server that is down.
      expect(['model_answer', 'model_unavailable']).toContain(error.reason);
      expect(lines).toMatchObject([{ outcome: 'failed', inputTokens: 0, outputTokens: 0, reported: false }]);
      expectNoSecretsIn(error);
    },
  );

  test('an answer that breaks off may have cost', async () => {
    await using server = await provider(
      () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              controller.enqueue(new TextEncoder().encode('{"half": '));
              controller.error(new Error('broken'));
            },
          }),
          { headers: { 'content-type': 'application/json' } },
        ),
    );
    const { host, ask, lines } = hostFor(wire, server.origin);
    const error = await refusalOf(host.run(ask()));
    expect(['model_answer', 'model_unreachable']).toContain(error.reason);
    expect(lines).toMatchObject([{ outcome: 'failed', reported: false }]);
    expectNoSecretsIn(error);
  });

  test('a provider that is not there is unavailable, and costs nothing', async () => {
    const { host, ask, lines } = hostFor(wire, await deserted());
    const error = await refusalOf(host.run(ask()));
    expect(error).toMatchObject({ code: 'unavailable', reason: 'model_unreachable' });
    expect(lines).toEqual([]);
    expectNoSecretsIn(error);
  });

  test.each(['run', 'stream'] as const)(
    '%s: a provider that keeps silent runs into the limit, and may have cost',
    async (way) => {
      const timer = handTimer();
      const gone = Promise.withResolvers<void>();
      await using server = await provider((_seen, _count, signal) => {
        signal.addEventListener('abort', () => gone.resolve());
        timer.fire();
        return new Promise(() => undefined);
      });
      const { host, ask, lines } = hostFor(wire, server.origin, { setTimer: timer.setTimer });
      const error = await refusalOf(host[way](ask()));
      expect(error).toMatchObject({ code: 'unavailable', reason: 'model_timeout' });
      expect(lines).toMatchObject([{ outcome: 'failed', reported: false }]);
      expect(timer.isSet()).toBe(false);
      // The provider learns that no caller waits any longer.
      await gone.promise;
      expectNoSecretsIn(error);
    },
  );

  test.each(['run', 'stream'] as const)(
    '%s: a caller that goes away ends it with its own reason',
    async (way) => {
      const caller = new AbortController();
      const reason = new Error('the browser was closed');
      await using server = await provider(() => {
        caller.abort(reason);
        return new Promise(() => undefined);
      });
      const { host, ask, lines } = hostFor(wire, server.origin);
      expect(await failureOf(host[way](ask({ signal: caller.signal })))).toBe(reason);
      expect(lines).toMatchObject([{ outcome: 'cancelled', reported: false }]);
    },
  );
});

test('nothing is asked for a caller that has gone away already', async () => {
  const [wire] = WIRES;
  if (!wire) throw new Error('no wire');
  await using server = await provider(() => json({}));
  const { host, ask, lines } = hostFor(wire, server.origin);
  const reason = new Error('gone');
  expect(await failureOf(host.run(ask({ signal: AbortSignal.abort(reason) })))).toBe(reason);
  expect([server.seen.length, lines.length]).toEqual([0, 0]);
});

test('with retries, each attempt is made and an attempt that was turned away costs nothing', async () => {
  const [wire] = WIRES;
  if (!wire) throw new Error('no wire');
  await using server = await provider((_, count) =>
    count < 3
      ? json(wire.error('server_error', 'no'), 500, { 'retry-after-ms': '1' })
      : json(wire.whole('Hello', { input: 5, output: 2 })),
  );
  const { host, ask, lines } = hostFor(wire, server.origin, { retriesMax: 2 });
  expect((await host.run(ask())).text).toBe('Hello');
  expect(server.seen).toHaveLength(3);
  expect(lines).toMatchObject([{ inputTokens: 5, outputTokens: 2, reported: true }]);

  const once = hostFor(wire, await deserted(), { retriesMax: 0 });
  expect(await refusalOf(once.host.run(once.ask()))).toMatchObject({ reason: 'model_unreachable' });
});

function expectNoSecretsIn(error: unknown): void {
  const words = wordsOf(error);
  for (const secret of [KEY, PROMPT, 'Mrs Private', 'Be short', SECRET_OF_THE_PROVIDER])
    expect(words).not.toContain(secret);
}
