/**
 * The public list prices of providers, with their dates. Data alone; the arithmetic is in `price.ts`. The prices are
 * those for text at the standard tier, paid on demand, without discounts. A model without an entry is unpriced: prices
 * that end on a known day, or could not be looked up, are left out.
 */

/** A price in US dollars for a million tokens, as a decimal with at most six places: `'0.125'`. */
export type UsdPerMillion = string;

export interface ModelPrices {
  readonly input: UsdPerMillion;
  /** For input that was read from a cache. Default: as `input`. */
  readonly cachedInput?: UsdPerMillion;
  /** For input that was written to a cache, for the shortest offered time. Default: as `input`. */
  readonly cacheWrite?: UsdPerMillion;
  /** For all generated tokens, reasoning included. */
  readonly output: UsdPerMillion;
}

export interface ModelRate extends ModelPrices {
  /** The prices of a whole request whose prompt has more than `over` tokens. Default: the same for every length. */
  readonly longPrompt?: ModelPrices & { readonly over: number };
}

export interface RateCardRow {
  /** The day of the list: `2026-10-24`. */
  readonly asOf: string;
  /** The address of the list. */
  readonly source: string;
  /** By model id, exactly as in a spec. */
  readonly models: Readonly<Record<string, ModelRate>>;
}

/** By provider row. A missing row, or a model that is missing in its row, is unpriced. */
export type RateCard = Readonly<Record<string, RateCardRow>>;

/** Above 272,000 tokens of prompt OpenAI charges twice the price of input and caches, and 1.5 times that of output. */
const OPENAI_LONG = 272_000;

const GPT_5_6_SOL: ModelRate = {
  input: '4',
  cachedInput: '0.4',
  cacheWrite: '5',
  output: '20',
  longPrompt: { over: OPENAI_LONG, input: '8', cachedInput: '0.8', cacheWrite: '10', output: '30' },
};
const GPT_5_5: ModelRate = {
  input: '5',
  cachedInput: '0.5',
  output: '30',
  longPrompt: { over: OPENAI_LONG, input: '10', cachedInput: '1', output: '45' },
};
const GPT_5_4: ModelRate = {
  input: '2.5',
  cachedInput: '0.25',
  output: '15',
  longPrompt: { over: OPENAI_LONG, input: '5', cachedInput: '0.5', output: '22.5' },
};
const GPT_5: ModelRate = { input: '1.25', cachedInput: '0.125', output: '10' };
const OPUS_5: ModelRate = { input: '5', cachedInput: '0.5', cacheWrite: '6.25', output: '25' };
const SONNET_4: ModelRate = { input: '3', cachedInput: '0.3', cacheWrite: '3.75', output: '15' };
const HAIKU_4_5: ModelRate = { input: '1', cachedInput: '0.1', cacheWrite: '1.25', output: '5' };
const GEMINI_3_PRO: ModelRate = {
  input: '2',
  cachedInput: '0.2',
  output: '12',
  longPrompt: { over: 200_000, input: '4', cachedInput: '0.4', output: '18' },
};

/** The platform's own card. Pass another to `createModelHost` when it is out of date. */
export const RATE_CARD: RateCard = {
  openai: {
    asOf: '2026-10-16',
    source: 'https://developers.openai.com/api/docs/pricing',
    models: {
      'gpt-6-astra': {
        input: '10',
        cachedInput: '1',
        cacheWrite: '12.5',
        output: '50',
        longPrompt: { over: OPENAI_LONG, input: '20', cachedInput: '2', cacheWrite: '25', output: '75' },
      },
      'gpt-6.1-sol': {
        input: '2',
        cachedInput: '0.1',
        cacheWrite: '2.5',
        output: '10',
        longPrompt: { over: OPENAI_LONG, input: '4', cachedInput: '0.2', cacheWrite: '5', output: '15' },
      },
      'gpt-6-sol': {
        input: '2',
        cachedInput: '0.2',
        cacheWrite: '2.5',
        output: '10',
        longPrompt: { over: OPENAI_LONG, input: '4', cachedInput: '0.4', cacheWrite: '5', output: '15' },
      },
      'gpt-6-luna': {
        input: '0.1',
        cachedInput: '0.01',
        cacheWrite: '0.125',
        output: '0.5',
        longPrompt: {
          over: OPENAI_LONG,
          input: '0.2',
          cachedInput: '0.02',
          cacheWrite: '0.25',
          output: '0.75',
        },
      },
      'gpt-5.6': GPT_5_6_SOL,
      'gpt-5.6-sol': GPT_5_6_SOL,
      'gpt-5.6-terra': {
        input: '2',
        cachedInput: '0.2',
        cacheWrite: '2.5',
        output: '12',
        longPrompt: { over: OPENAI_LONG, input: '4', cachedInput: '0.4', cacheWrite: '5', output: '18' },
      },
      'gpt-5.6-luna': {
        input: '0.2',
        cachedInput: '0.02',
        cacheWrite: '0.25',
        output: '1.2',
        longPrompt: {
          over: OPENAI_LONG,
          input: '0.4',
          cachedInput: '0.04',
          cacheWrite: '0.5',
          output: '1.8',
        },
      },
      'gpt-5.5': GPT_5_5,
      'gpt-5.5-2026-04-23': GPT_5_5,
      'gpt-5.4': GPT_5_4,
      'gpt-5.4-2026-03-05': GPT_5_4,
      'gpt-5.4-mini': { input: '0.75', cachedInput: '0.075', output: '4.5' },
      'gpt-5.4-nano': { input: '0.2', cachedInput: '0.02', output: '1.25' },
      'gpt-5.2': { input: '1.75', cachedInput: '0.175', output: '14' },
      'gpt-5.1': GPT_5,
      'gpt-5': GPT_5,
      'gpt-5-mini': { input: '0.25', cachedInput: '0.025', output: '2' },
      'gpt-5-nano': { input: '0.05', cachedInput: '0.005', output: '0.4' },
      'gpt-4.1': { input: '2', cachedInput: '0.5', output: '8' },
      'gpt-4.1-mini': { input: '0.4', cachedInput: '0.1', output: '1.6' },
      'gpt-4.1-nano': { input: '0.1', cachedInput: '0.025', output: '0.4' },
      'gpt-4o': { input: '2.5', cachedInput: '1.25', output: '10' },
      'gpt-4o-mini': { input: '0.15', cachedInput: '0.075', output: '0.6' },
    },
  },
  anthropic: {
    asOf: '2026-10-24',
    source: 'https://platform.claude.com/docs/en/about-claude/pricing',
    models: {
      'claude-fable-5-1': { input: '10', cachedInput: '0.25', cacheWrite: '12.5', output: '50' },
      'claude-fable-5': { input: '10', cachedInput: '1', cacheWrite: '12.5', output: '50' },
      'claude-opus-5-5': { input: '4', cachedInput: '0.2', cacheWrite: '5', output: '20' },
      'claude-opus-5': OPUS_5,
      'claude-opus-4-8': OPUS_5,
      'claude-opus-4-7': OPUS_5,
      'claude-opus-4-6': OPUS_5,
      'claude-opus-4-5': OPUS_5,
      'claude-sonnet-5-5': { input: '2', cachedInput: '0.1', cacheWrite: '2.5', output: '10' },
      'claude-sonnet-5': { input: '2', cachedInput: '0.2', cacheWrite: '2.5', output: '10' },
      'claude-sonnet-4-6': SONNET_4,
      'claude-sonnet-4-5': SONNET_4,
      'claude-haiku-5-5': {
        input: '0.1',
        cachedInput: '0.01',
        cacheWrite: '0.125',
        output: '0.5',
        longPrompt: {
          over: 100_000,
          input: '0.5',
          cachedInput: '0.05',
          cacheWrite: '0.625',
          output: '2.5',
        },
      },
      'claude-haiku-4-5': HAIKU_4_5,
      'claude-haiku-4-5-20251001': HAIKU_4_5,
    },
  },
  google: {
    asOf: '2026-09-23',
    source: 'https://ai.google.dev/gemini-api/docs/pricing',
    models: {
      'gemini-3.5-flash': { input: '1.5', cachedInput: '0.15', output: '9' },
      'gemini-3.5-flash-lite': { input: '0.3', cachedInput: '0.03', output: '2.5' },
      'gemini-3.1-pro-preview': GEMINI_3_PRO,
      'gemini-3.1-flash-lite': { input: '0.25', cachedInput: '0.025', output: '1.5' },
      'gemini-3-pro-preview': GEMINI_3_PRO,
      'gemini-3-flash-preview': { input: '0.5', cachedInput: '0.05', output: '3' },
      'gemini-2.5-pro': {
        input: '1.25',
        cachedInput: '0.125',
        output: '10',
        longPrompt: { over: 200_000, input: '2.5', cachedInput: '0.25', output: '15' },
      },
      'gemini-2.5-flash': { input: '0.3', cachedInput: '0.03', output: '2.5' },
      'gemini-2.5-flash-lite': { input: '0.1', cachedInput: '0.01', output: '0.4' },
    },
  },
  'workers-ai': {
    asOf: '2026-09-23',
    source: 'https://developers.cloudflare.com/workers-ai/platform/pricing/',
    models: {
      '@cf/openai/gpt-oss-120b': { input: '0.35', output: '0.75' },
      '@cf/openai/gpt-oss-20b': { input: '0.2', output: '0.3' },
      '@cf/meta/llama-4-scout-17b-16e-instruct': { input: '0.27', output: '0.85' },
      '@cf/meta/llama-3.3-70b-instruct-fp8-fast': { input: '0.293', output: '2.253' },
      '@cf/meta/llama-3.1-8b-instruct-fp8': { input: '0.152', output: '0.287' },
      '@cf/meta/llama-3.2-3b-instruct': { input: '0.051', output: '0.335' },
      '@cf/meta/llama-3.2-1b-instruct': { input: '0.027', output: '0.201' },
      '@cf/mistralai/mistral-small-3.1-24b-instruct': { input: '0.351', output: '0.555' },
      '@cf/moonshotai/kimi-k2.7-code': { input: '0.95', cachedInput: '0.19', output: '4' },
      '@cf/moonshotai/kimi-k2.6': { input: '0.95', cachedInput: '0.16', output: '4' },
      '@cf/qwen/qwen3-30b-a3b-fp8': { input: '0.051', output: '0.335' },
      '@cf/zai-org/glm-4.7-flash': { input: '0.06', output: '0.4' },
      '@cf/ibm-granite/granite-4.0-h-micro': { input: '0.017', output: '0.112' },
    },
  },
};
