/**
 * The shipped rows of providers. Each names the variables that it reads, and loads its library only when a model is
 * made: an installation without models never loads one.
 */
import type { LanguageModel } from 'ai';

/** A model of the AI SDK. Not a string: that would name a gateway without credentials of this platform. */
export type HostedModel = Exclude<LanguageModel, string>;

/** A variable of the platform's environment. */
export interface ModelVariable {
  readonly name: string;
  /** `key`: visible ASCII, never shown. `url`: an http or https address without credentials, query or fragment. */
  readonly kind: 'key' | 'url';
  readonly required: boolean;
}

/** The inputs of a factory. No other part of the environment reaches it (D-21). */
export interface ModelParts {
  readonly modelId: string;
  /** The value of one of the factory's own variables; undefined for an optional one that is not set. */
  readonly variable: (name: string) => string | undefined;
  readonly aiBinding: unknown;
  /** Follows no redirects, so that credentials stay at the address that they were sent to. */
  readonly fetch: typeof globalThis.fetch;
}

export interface ModelFactory {
  readonly variables: readonly ModelVariable[];
  /** Whether it works through `aiBinding`. Default: no. */
  readonly needsAiBinding?: boolean;
  /** Whether the provider has this model. Default: any. */
  readonly accepts?: (modelId: string) => boolean;
  /** Loads its library and makes the model. Sends no request. */
  readonly load: (parts: ModelParts) => Promise<HostedModel>;
  /** Options of the AI SDK for every call, by the name of its provider. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, boolean | number | string>>>>;
}

/** By the name of the row. */
export type ModelFactories = Readonly<Record<string, ModelFactory>>;

const key = (name: string): ModelVariable => ({ name, kind: 'key', required: true });
const optionalUrl = (name: string): ModelVariable => ({ name, kind: 'url', required: false });

/*
 * Keys and addresses are passed even where they are the library's defaults. Without them, the libraries would read
 * OPENAI_API_KEY, ANTHROPIC_BASE_URL and others from the process, which are not the platform's settings.
 */

/** OpenAI, over the Responses API. OpenAI does not store answers (`store: false`). */
const openai: ModelFactory = {
  variables: [key('FREEHOLD_MODEL_OPENAI_API_KEY'), optionalUrl('FREEHOLD_MODEL_OPENAI_BASE_URL')],
  providerOptions: { openai: { store: false } },
  load: async ({ modelId, variable, fetch }) => {
    const { createOpenAI } = await import('@ai-sdk/openai');
    const provider = createOpenAI({
      apiKey: variable('FREEHOLD_MODEL_OPENAI_API_KEY') ?? '',
      baseURL: variable('FREEHOLD_MODEL_OPENAI_BASE_URL') ?? 'https://api.openai.com/v1',
      fetch,
    });
    return provider.responses(modelId);
  },
};

/** Anthropic, over the Messages API. */
const anthropic: ModelFactory = {
  variables: [key('FREEHOLD_MODEL_ANTHROPIC_API_KEY'), optionalUrl('FREEHOLD_MODEL_ANTHROPIC_BASE_URL')],
  load: async ({ modelId, variable, fetch }) => {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    const provider = createAnthropic({
      apiKey: variable('FREEHOLD_MODEL_ANTHROPIC_API_KEY') ?? '',
      baseURL: variable('FREEHOLD_MODEL_ANTHROPIC_BASE_URL') ?? 'https://api.anthropic.com/v1',
      fetch,
    });
    return provider.messages(modelId);
  },
};

/** Google, over the Gemini API. */
const google: ModelFactory = {
  variables: [key('FREEHOLD_MODEL_GOOGLE_API_KEY'), optionalUrl('FREEHOLD_MODEL_GOOGLE_BASE_URL')],
  load: async ({ modelId, variable, fetch }) => {
    const { createGoogle } = await import('@ai-sdk/google');
    const provider = createGoogle({
      apiKey: variable('FREEHOLD_MODEL_GOOGLE_API_KEY') ?? '',
      baseURL:
        variable('FREEHOLD_MODEL_GOOGLE_BASE_URL') ?? 'https://generativelanguage.googleapis.com/v1beta',
      fetch,
    });
    return provider.languageModel(modelId);
  },
};

/** Any server that speaks OpenAI's Chat Completions: one on the same machine needs no key. */
const openaiCompatible: ModelFactory = {
  variables: [
    { name: 'FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL', kind: 'url', required: true },
    { name: 'FREEHOLD_MODEL_OPENAI_COMPATIBLE_API_KEY', kind: 'key', required: false },
  ],
  load: async ({ modelId, variable, fetch }) => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const apiKey = variable('FREEHOLD_MODEL_OPENAI_COMPATIBLE_API_KEY');
    const provider = createOpenAICompatible({
      name: 'openai-compatible',
      baseURL: variable('FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL') ?? '',
      ...(apiKey === undefined ? {} : { apiKey }),
      // Without it no stream reports its tokens.
      includeUsage: true,
      fetch,
    });
    return provider.chatModel(modelId);
  },
};

/** Cloudflare's own models, through the binding of a worker. */
const workersAi: ModelFactory = {
  variables: [],
  needsAiBinding: true,
  // Any other name would go through an AI gateway to another provider, on another bill.
  accepts: (modelId) => /^@(?:cf|hf)\//.test(modelId),
  load: async ({ modelId, aiBinding }) => {
    const { createWorkersAI } = await import('workers-ai-provider');
    return createWorkersAI({ binding: aiBinding as never })(modelId as never);
  },
};

/** The shipped rows. A host with rows of its own passes `{ ...MODEL_FACTORIES, mine }`. */
export const MODEL_FACTORIES: ModelFactories = {
  openai,
  anthropic,
  google,
  'openai-compatible': openaiCompatible,
  'workers-ai': workersAi,
};
