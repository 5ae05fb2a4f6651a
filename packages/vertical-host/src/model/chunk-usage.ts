/**
 * What a stream says about tokens before it has ended. A stream that breaks off, or that nobody reads to its end, never
 * gets to its summary; some providers count the prompt at the beginning and the answer as they go.
 */
import { count, NO_TOKENS, type TokenCounts } from './usage.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The counts in one raw piece of a stream, in any of the wire formats of the shipped rows; empty when it has none. */
export function usageOfChunk(chunk: unknown): Partial<TokenCounts> {
  const stated = [
    at(chunk, 'usage'),
    at(chunk, 'message', 'usage'),
    at(chunk, 'response', 'usage'),
    at(chunk, 'usageMetadata'),
  ].find((value) => value !== undefined);
  return stated === undefined ? {} : counts(stated);
}

/** Later counts replace earlier ones: they are running totals. What was never said is zero. */
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
  // Anthropic counts what was cached beside the input, everybody else as part of it.
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
