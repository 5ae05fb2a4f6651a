/** One question and one answer, over each wire format (spec 4.8: D-18, D-20, D-21). */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ATTRIBUTION, hostFor, json, PROMPT, provider, refusalOf } from './support.ts';
import { KEY, WIRES } from './wires.ts';

describe.each(WIRES)('$row', (wire) => {
  test('a model is asked with the platform’s credential, and its answer comes with the line (D-18, D-20, D-21)', async () => {
    await using server = await provider(() =>
      json(wire.whole('Hello', { input: 100, cached: 20, output: 7 })),
    );
    const { host, ask, lines } = hostFor(wire, server.origin);

    const answer = await host.run(ask());

    expect(answer).toEqual({ text: 'Hello', finish: 'stop', usage: lines[0] });
    expect(lines).toEqual([
      {
        spec: wire.spec,
        outcome: 'completed',
        inputTokens: 100,
        cachedInputTokens: 20,
        cacheWriteTokens: 0,
        outputTokens: 7,
        reasoningTokens: 0,
        reported: true,
        listUsd: wire.row === 'openai-compatible' ? null : expect.any(Number),
        pricesAsOf: wire.row === 'openai-compatible' ? null : expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
        attribution: ATTRIBUTION,
      },
    ]);
    const [asked] = server.seen;
    const words = JSON.stringify(asked?.body);
    expect(asked?.headers.get(wire.credential)).toContain(KEY);
    expect(words).toContain(PROMPT);
    expect(words).toContain('Be short.');
    expect(words).toContain('100');
    expect(`${asked?.path} ${words}`).toContain(wire.spec.slice(wire.row.length + 1));
    expect(server.seen).toHaveLength(1);
  });

  test('an answer that fills the limit says so', async () => {
    await using server = await provider(() => json(wire.cutShort('Hel', { input: 9, output: 100 })));
    const { host, ask } = hostFor(wire, server.origin);
    expect(await host.run(ask())).toMatchObject({ text: 'Hel', finish: 'length' });
  });

  test('what the provider’s rules ended is a refusal, and its tokens are on the line', async () => {
    await using server = await provider(() => json(wire.filtered({ input: 9, output: 1 })));
    const { host, ask, lines } = hostFor(wire, server.origin);
    expect(await refusalOf(host.run(ask()))).toMatchObject({ code: 'forbidden', reason: 'model_refused' });
    expect(lines).toMatchObject([{ outcome: 'failed', inputTokens: 9, outputTokens: 1, reported: true }]);
  });

  test('the usage of several steps is the sum of all, each priced by itself (D-20)', async () => {
    await using server = await provider((_, count) =>
      json(
        count < 3
          ? wire.toolCall({ input: 10 * count, output: 4 })
          : wire.whole('It was sent.', { input: 70, output: 6 }),
      ),
    );
    const { host, ask, lines } = hostFor(wire, server.origin);
    const answer = await host.run(ask({ tools: { look: LOOK } }));
    expect(answer.text).toBe('It was sent.');
    expect(server.seen).toHaveLength(3);
    expect(JSON.stringify(server.seen[2]?.body)).toContain('on its way');
    expect(lines).toMatchObject([{ inputTokens: 100, outputTokens: 14, reported: true }]);
  });

  test('one step of several without usage makes the whole unreported, and its counts are kept (D-20)', async () => {
    await using server = await provider((_, count) =>
      json(
        count === 1 ? wire.toolCall({ input: 10, output: 4 }) : wire.whole('Sent.', { input: 0, output: 0 }),
      ),
    );
    const { host, ask, lines } = hostFor(wire, server.origin);
    await host.run(ask({ tools: { look: LOOK } }));
    expect(lines).toMatchObject([{ inputTokens: 10, outputTokens: 4, reported: false }]);
  });

  test('steps end at their limit', async () => {
    await using server = await provider(() => json(wire.toolCall({ input: 10, output: 4 })));
    const { host, ask, lines } = hostFor(wire, server.origin);
    const answer = await host.run(ask({ tools: { look: LOOK }, stepsMax: 2 }));
    expect(answer).toMatchObject({ text: '', finish: 'steps' });
    expect(lines).toMatchObject([{ inputTokens: 20, outputTokens: 8, reported: true }]);
  });
});

describe.each(WIRES.filter(({ row }) => row !== 'anthropic'))('$row', (wire) => {
  test('an answer without usage counts as zero, unreported (D-20)', async () => {
    await using server = await provider(() => json(wire.whole('Hello')));
    const { host, ask, lines } = hostFor(wire, server.origin);
    expect((await host.run(ask())).text).toBe('Hello');
    expect(lines).toMatchObject([{ inputTokens: 0, outputTokens: 0, reported: false, outcome: 'completed' }]);
  });
});

describe.each(WIRES)('$row, partial usage', (wire) => {
  test.each([
    [{ input: 12 }, { inputTokens: 12, outputTokens: 0 }],
    [{ output: 5 }, { inputTokens: 0, outputTokens: 5 }],
  ])('%o: the missing count is zero, unreported (D-20)', async (counts, expected) => {
    await using server = await provider(() => json(wire.whole('Hello', counts)));
    const { host, ask, lines } = hostFor(wire, server.origin);
    // Two of the libraries refuse such an answer altogether. What it took is on the line in any case.
    await host.run(ask()).catch(() => undefined);
    expect(lines).toMatchObject([{ ...expected, reported: false }]);
  });
});

const LOOK = {
  description: 'Looks where the order is.',
  input: z.object({}),
  run: () => ({ where: 'on its way' }),
};
