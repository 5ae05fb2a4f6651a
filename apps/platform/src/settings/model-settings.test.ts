/** The platform's settings about language models, judged at its start (spec 4.8, D-18, D-21). */
import { describe, expect, test } from 'vitest';
import { parseSettings, SettingsError } from './settings.ts';

const BASE_URL = 'FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL';
const local = { FREEHOLD_MODEL: 'openai-compatible:llama3.2:3b', [BASE_URL]: 'http://127.0.0.1:11434/v1' };
const card = JSON.stringify({
  'openai-compatible': {
    asOf: '2026-01-31',
    source: 'our contract',
    models: { 'llama3.2:3b': { input: '0.1', output: '0.4' } },
  },
});

function faultOf(env: Record<string, string>): string {
  try {
    parseSettings(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
  return 'none';
}

test('without settings about models there is none, and that is no fault', () => {
  expect(parseSettings({}).models).toEqual({});
  expect(parseSettings({ FREEHOLD_MODEL: '' }).models).toEqual({});
});

test('applications are bound to the settings about models, and to no others', () => {
  const env = {
    ...local,
    FREEHOLD_MODEL_ACCESS: 'entitled',
    FREEHOLD_MODEL_TOKENS_MONTHLY: 'none',
    FREEHOLD_MODEL_RATE_CARD: card,
  };
  expect(parseSettings({ ...env, FREEHOLD_MODELS: 'x', OPENAI_API_KEY: 'sk-other' }).models).toEqual(env);
});

describe('incomplete or unknown settings do not start, and one sentence says why (D-21)', () => {
  test.each<[string, Record<string, string>, RegExp]>([
    [
      'a model without its address',
      { FREEHOLD_MODEL: 'openai-compatible:m' },
      /^FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL is missing: .*needs it\.$/,
    ],
    [
      'a model without its key',
      { FREEHOLD_MODEL: 'openai:gpt-5-mini' },
      /^FREEHOLD_MODEL_OPENAI_API_KEY is missing/,
    ],
    [
      'an address without a model',
      { [BASE_URL]: 'http://127.0.0.1:1/v1' },
      /^FREEHOLD_MODEL is missing: FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL/,
    ],
    ['a slip in a name', { ...local, FREEHOLD_MODEL_ACCES: 'all' }, /^FREEHOLD_MODEL_ACCES is not a setting/],
    [
      'no provider',
      { ...local, FREEHOLD_MODEL: 'llama3.2' },
      /^FREEHOLD_MODEL cannot be used: must be a provider and a model/,
    ],
    [
      'an unknown provider',
      { ...local, FREEHOLD_MODEL: 'mistral:large' },
      /^FREEHOLD_MODEL cannot be used: There are no models of mistral here\.$/,
    ],
    [
      'a provider that needs a worker',
      { FREEHOLD_MODEL: 'workers-ai:@cf/meta/llama' },
      /^FREEHOLD_MODEL cannot be used: .* from a worker alone\.$/,
    ],
    [
      'an address that is none',
      { ...local, [BASE_URL]: 'localhost:11434' },
      /BASE_URL cannot be used: must be an http or https address/,
    ],
    [
      'a key with a line break',
      { ...local, FREEHOLD_MODEL_OPENAI_COMPATIBLE_API_KEY: 'sk-\nsecret' },
      /API_KEY cannot be used: must be visible ASCII/,
    ],
    [
      'half of another provider',
      { ...local, FREEHOLD_MODEL_ANTHROPIC_BASE_URL: 'https://a.example' },
      /^FREEHOLD_MODEL_ANTHROPIC_API_KEY is missing: FREEHOLD_MODEL_ANTHROPIC_BASE_URL is of no use without it\.$/,
    ],
    [
      'an unknown access',
      { ...local, FREEHOLD_MODEL_ACCESS: 'some' },
      /^FREEHOLD_MODEL_ACCESS cannot be used: must be all or entitled\.$/,
    ],
    [
      'a limit that is no number',
      { ...local, FREEHOLD_MODEL_TOKENS_MONTHLY: '1e6' },
      /^FREEHOLD_MODEL_TOKENS_MONTHLY cannot be used/,
    ],
    [
      'a rate card that is none',
      { ...local, FREEHOLD_MODEL_RATE_CARD: '{"openai":1}' },
      /^FREEHOLD_MODEL_RATE_CARD cannot be used/,
    ],
    [
      'a rate card that is no JSON',
      { ...local, FREEHOLD_MODEL_RATE_CARD: 'prices.json' },
      /^FREEHOLD_MODEL_RATE_CARD cannot be used/,
    ],
  ])('%s', (_what, env, sentence) => {
    const fault = faultOf(env);
    expect(fault).toMatch(sentence);
    expect(fault).toMatch(/^F.*\.$/);
    expect(fault).not.toContain('secret');
  });
});
