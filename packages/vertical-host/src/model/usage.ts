/** The tokens of a call, as the provider reports them. */
import type { LanguageModelMiddleware } from 'ai';

/** The counts of one answer of a provider. A count that was not reported is zero. */
export interface TokenCounts {
  /** The whole prompt, including tokens that were read from or written to a cache. */
  readonly inputTokens: number;
  /** The part of `inputTokens` that was read from a cache. */
  readonly cachedInputTokens: number;
  /** The part of `inputTokens` that was written to a cache. */
  readonly cacheWriteTokens: number;
  /** All generated tokens, reasoning included. */
  readonly outputTokens: number;
  /** The part of `outputTokens` that was reasoning. */
  readonly reasoningTokens: number;
}

export interface ReportedUsage extends TokenCounts {
  /** False when a count is missing or cannot be true. */
  readonly reported: boolean;
}

type Generated = Awaited<ReturnType<NonNullable<LanguageModelMiddleware['wrapGenerate']>>>;
/** Usage in the form of the AI SDK. */
export type StatedUsage = Generated['usage'];

export const NO_TOKENS: TokenCounts = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

/**
 * Reads the usage of a model. The SDK turns a missing count into zero, so zero counts as reported only where it is
 * possible: every prompt has tokens, and so has every answer with content.
 * @param produced whether anything was generated.
 */
export function readUsage(usage: StatedUsage, produced: boolean): ReportedUsage {
  const input = count(usage.inputTokens.total);
  const output = count(usage.outputTokens.total);
  const cached = count(usage.inputTokens.cacheRead) ?? 0;
  const written = count(usage.inputTokens.cacheWrite) ?? 0;
  const reasoning = count(usage.outputTokens.reasoning) ?? 0;
  const isWhole = input !== undefined && input > 0 && output !== undefined && (output > 0 || !produced);
  // A part that is larger than the whole makes both unreliable.
  const fits = cached + written <= (input ?? 0) && reasoning <= (output ?? 0);
  return {
    ...NO_TOKENS,
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    ...(fits
      ? { cachedInputTokens: cached, cacheWriteTokens: written, reasoningTokens: reasoning }
      : undefined),
    reported: isWhole && fits,
  };
}

/** The sum of several answers. It counts as reported only when all of them do, and there is at least one. */
export function sumUsage(all: readonly ReportedUsage[]): ReportedUsage {
  const sum = (key: keyof TokenCounts) => all.reduce((total, usage) => total + usage[key], 0);
  return {
    inputTokens: sum('inputTokens'),
    cachedInputTokens: sum('cachedInputTokens'),
    cacheWriteTokens: sum('cacheWriteTokens'),
    outputTokens: sum('outputTokens'),
    reasoningTokens: sum('reasoningTokens'),
    reported: all.length > 0 && all.every((usage) => usage.reported),
  };
}

/** A number of tokens, or undefined for what cannot be one. */
export function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The counts in one raw piece of a stream, in any of the wire formats of the shipped rows; empty when it has none. A stream
 * that breaks off never gets to its summary, but some providers count the prompt first and the answer as they go.
 */
export function usageOfChunk(chunk: unknown): Partial<TokenCounts> {
  const stated = [
    at(chunk, 'usage'),
    at(chunk, 'message', 'usage'),
    at(chunk, 'response', 'usage'),
    at(chunk, 'usageMetadata'),
  ].find((value) => value !== undefined);
  return stated === undefined ? {} : counts(stated);
}

/** Later counts replace earlier ones: they are running totals. A missing count is zero. */
export function mergeCounts(parts: readonly Partial<TokenCounts>[]): TokenCounts {
  const merged = Object.assign({}, NO_TOKENS, ...parts) as TokenCounts;
  const fits =
    merged.cachedInputTokens + merged.cacheWriteTokens <= merged.inputTokens &&
    merged.reasoningTokens <= merged.outputTokens;
  return fits ? merged : { ...NO_TOKENS, inputTokens: merged.inputTokens, outputTokens: merged.outputTokens };
}

function counts(usage: Fields): Partial<TokenCounts> {
  const cached =
    count(usage.cache_read_input_tokens) ??
    count(at(usage, 'input_tokens_details')?.cached_tokens) ??
    count(at(usage, 'prompt_tokens_details')?.cached_tokens) ??
    count(usage.cachedContentTokenCount);
  const written =
    count(usage.cache_creation_input_tokens) ?? count(at(usage, 'input_tokens_details')?.cache_write_tokens);
  const reasoning =
    count(at(usage, 'output_tokens_details')?.reasoning_tokens) ??
    count(at(usage, 'completion_tokens_details')?.reasoning_tokens) ??
    count(usage.thoughtsTokenCount);
  const prompt = count(usage.input_tokens) ?? count(usage.prompt_tokens) ?? count(usage.promptTokenCount);
  // Anthropic counts cached tokens beside the input; the other providers count them as part of it.
  const beside = count(usage.cache_read_input_tokens) ?? 0;
  const besideToo = count(usage.cache_creation_input_tokens) ?? 0;
  const answer = count(usage.output_tokens) ?? count(usage.completion_tokens);
  const candidates = count(usage.candidatesTokenCount);
  const output =
    answer ??
    (candidates === undefined && usage.thoughtsTokenCount === undefined
      ? undefined
      : (candidates ?? 0) + (reasoning ?? 0));
  return {
    ...(prompt === undefined ? {} : { inputTokens: prompt + beside + besideToo }),
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
    ...(output === undefined ? {} : { outputTokens: output }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  };
}

function at(value: unknown, ...path: readonly string[]): Fields | undefined {
  let here = value;
  for (const key of path) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = (here as Fields)[key];
  }
  return typeof here === 'object' && here !== null ? (here as Fields) : undefined;
}
