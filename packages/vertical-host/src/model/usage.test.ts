import { expect, test } from 'vitest';
import { mergeCounts, NO_TOKENS, readUsage, sumUsage, usageOfChunk } from './usage.ts';

const stated = (
  input: Partial<Record<'total' | 'noCache' | 'cacheRead' | 'cacheWrite', number>>,
  output: Partial<Record<'total' | 'text' | 'reasoning', number>>,
) => ({
  inputTokens: {
    total: undefined,
    noCache: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
    ...input,
  },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined, ...output },
});

test('whole usage is read as it is (D-20)', () => {
  const usage = stated({ total: 100, cacheRead: 20, cacheWrite: 5 }, { total: 30, reasoning: 12 });
  expect(readUsage(usage, true)).toEqual({
    inputTokens: 100,
    cachedInputTokens: 20,
    cacheWriteTokens: 5,
    outputTokens: 30,
    reasoningTokens: 12,
    reported: true,
  });
});

test.each([
  ['nothing', stated({}, {}), true],
  ['input alone', stated({ total: 9 }, {}), true],
  ['output alone', stated({}, { total: 9 }), true],
  ['no input at all', stated({ total: 0 }, { total: 9 }), true],
  ['no output for an answer', stated({ total: 9 }, { total: 0 }), true],
  ['less than nothing', stated({ total: -9 }, { total: 9 }), true],
  ['half a token', stated({ total: 9.5 }, { total: 9 }), true],
  ['no number', stated({ total: Number.NaN }, { total: 9 }), true],
  ['more from the cache than there was', stated({ total: 9, cacheRead: 10 }, { total: 9 }), true],
  ['more reasoning than output', stated({ total: 9 }, { total: 9, reasoning: 10 }), true],
])('%s is not reported, and every count is a whole number (D-20)', (_, usage, produced) => {
  const { reported, ...counts } = readUsage(usage, produced);
  expect(reported).toBe(false);
  for (const count of Object.values(counts)) expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
});

test('an answer that holds nothing may have taken no output', () => {
  expect(readUsage(stated({ total: 9 }, { total: 0 }), false).reported).toBe(true);
});

test('a sum is reported when all of it is, and a sum of nothing is not', () => {
  const whole = { ...NO_TOKENS, inputTokens: 3, outputTokens: 1, reported: true };
  expect(sumUsage([whole, whole])).toEqual({ ...NO_TOKENS, inputTokens: 6, outputTokens: 2, reported: true });
  expect(sumUsage([whole, { ...whole, reported: false }]).reported).toBe(false);
  expect(sumUsage([])).toEqual({ ...NO_TOKENS, reported: false });
});

test.each([
  [
    'Anthropic, which counts caches beside the input',
    {
      type: 'message_start',
      message: {
        usage: {
          input_tokens: 80,
          cache_read_input_tokens: 15,
          cache_creation_input_tokens: 5,
          output_tokens: 1,
        },
      },
    },
    { inputTokens: 100, cachedInputTokens: 15, cacheWriteTokens: 5, outputTokens: 1 },
  ],
  [
    'Chat Completions',
    { usage: { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 15 } } },
    { inputTokens: 100, cachedInputTokens: 15, outputTokens: 7 },
  ],
  [
    'Responses',
    {
      type: 'response.completed',
      response: {
        usage: {
          input_tokens: 100,
          output_tokens: 7,
          input_tokens_details: { cached_tokens: 15, cache_write_tokens: 5 },
          output_tokens_details: { reasoning_tokens: 3 },
        },
      },
    },
    { inputTokens: 100, cachedInputTokens: 15, cacheWriteTokens: 5, outputTokens: 7, reasoningTokens: 3 },
  ],
  [
    'Gemini, which counts thoughts beside the output',
    {
      usageMetadata: {
        promptTokenCount: 100,
        candidatesTokenCount: 7,
        thoughtsTokenCount: 3,
        cachedContentTokenCount: 15,
      },
    },
    { inputTokens: 100, cachedInputTokens: 15, outputTokens: 10, reasoningTokens: 3 },
  ],
  ['a piece of text', { choices: [{ delta: { content: 'usage' } }] }, {}],
  ['null', null, {}],
  ['usage that is no object', { usage: 7, usageMetadata: 'x', message: { usage: null } }, {}],
])('counts are found in a piece of a stream: %s', (_, chunk, counts) => {
  expect(usageOfChunk(chunk)).toEqual(counts);
});

test('later counts replace earlier ones', () => {
  expect(mergeCounts([{ inputTokens: 100, outputTokens: 1 }, {}, { outputTokens: 9 }])).toEqual({
    ...NO_TOKENS,
    inputTokens: 100,
    outputTokens: 9,
  });
  expect(mergeCounts([{ inputTokens: 5, cachedInputTokens: 9 }])).toEqual({ ...NO_TOKENS, inputTokens: 5 });
});
