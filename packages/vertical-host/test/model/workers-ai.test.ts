/** Cloudflare's models through the binding of a worker (spec 4.8). */
import { expect, test } from 'vitest';
import type { ModelHostOptions } from '../../src/model/index.ts';
import { hostFor, refusalOf, textOf } from './support.ts';

const SPEC = 'workers-ai:@cf/openai/gpt-oss-20b';

/** A binding that answers what it is told, and what it was asked. */
function bindingOf(answer: (options: { signal?: AbortSignal }) => unknown) {
  const asked: unknown[][] = [];
  const aiBinding = {
    run: async (model: string, inputs: unknown, options: { signal?: AbortSignal }) => {
      asked.push([model, inputs]);
      return answer(options);
    },
  };
  const make = (options: Partial<ModelHostOptions> = {}) =>
    hostFor({ spec: SPEC, env: () => ({}) }, '', { aiBinding, ...options });
  return { asked, make };
}

const events = (...data: unknown[]) =>
  new Blob(
    data.map((each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`),
  ).stream();

test('a model is asked through the binding, and its tokens are priced', async () => {
  const { asked, make } = bindingOf(() => ({
    response: 'Hello',
    usage: { prompt_tokens: 100, completion_tokens: 7 },
  }));
  const { host, ask, lines } = make();
  expect((await host.run(ask())).text).toBe('Hello');
  expect(asked).toMatchObject([['@cf/openai/gpt-oss-20b', { max_tokens: 100 }]]);
  // 100 × $0.2 and 7 × $0.3 for a million.
  expect(lines).toMatchObject([{ inputTokens: 100, outputTokens: 7, reported: true, listUsd: 0.0000221 }]);
});

test.each([undefined, { prompt_tokens: 100 }, { completion_tokens: 7 }])(
  'usage %o is not complete, and says so (D-20)',
  async (usage) => {
    const { make } = bindingOf(() => ({ response: 'Hello', usage }));
    const { host, ask, lines } = make();
    await host.run(ask());
    expect(lines).toMatchObject([
      {
        inputTokens: usage?.prompt_tokens ?? 0,
        outputTokens: usage?.completion_tokens ?? 0,
        reported: false,
      },
    ]);
  },
);

test('a stream is counted at its end', async () => {
  const { make } = bindingOf(() =>
    events(
      { response: 'Hel' },
      { response: 'lo' },
      { response: '', usage: { prompt_tokens: 100, completion_tokens: 7 } },
      '[DONE]',
    ),
  );
  const { host, ask, lines } = make();
  expect(await textOf((await host.stream(ask())).text)).toBe('Hello');
  expect(lines).toMatchObject([{ inputTokens: 100, outputTokens: 7, reported: true, outcome: 'completed' }]);
});

test('a stream without its end fails', async () => {
  const { make } = bindingOf(() => events({ response: 'Hel' }));
  const { host, ask, lines } = make();
  const { text } = await host.stream(ask());
  expect(await refusalOf(textOf(text))).toMatchObject({ reason: 'model_answer' });
  expect(lines).toMatchObject([{ outcome: 'failed', reported: false }]);
});

test('a binding that is out of capacity is a refusal that costs nothing', async () => {
  const { make } = bindingOf(() => {
    throw new Error('3040: Capacity temporarily exceeded, please try again.');
  });
  const { host, ask, lines } = make();
  expect(await refusalOf(host.run(ask()))).toMatchObject({ code: 'rate_limited' });
  expect(lines).toEqual([]);
});

test('a binding that does not listen to signals is left behind when the caller goes away', async () => {
  const caller = new AbortController();
  const { make } = bindingOf(() => {
    caller.abort(new Error('gone'));
    return new Promise(() => undefined);
  });
  const { host, ask, lines } = make();
  await expect(host.run(ask({ signal: caller.signal }))).rejects.toThrow('gone');
  expect(lines).toMatchObject([{ outcome: 'cancelled', reported: false }]);
});

test('a binding is not asked for a caller that has gone away already', async () => {
  const { asked, make } = bindingOf(() => ({ response: 'Hello' }));
  const { host, ask, lines } = make();
  const signal = AbortSignal.abort(new Error('gone'));
  await expect(host.run(ask({ signal }))).rejects.toThrow('gone');
  await expect(host.stream(ask({ signal }))).rejects.toThrow('gone');
  await new Promise((resolve) => setImmediate(resolve));
  expect([asked, lines]).toEqual([[], []]);
});
