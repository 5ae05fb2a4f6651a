/** How many tokens a call took, as the provider reported them. */
import type { LanguageModelMiddleware } from 'ai';

/** The counts of one answer of a provider. None is ever missing: what was not reported is zero. */
export interface TokenCounts {
  /** All of the prompt, what was read from or written to a cache included. */
  readonly inputTokens: number;
  /** The part of `inputTokens` that was read from a cache. */
  readonly cachedInputTokens: number;
  /** The part of `inputTokens` that was written to a cache. */
  readonly cacheWriteTokens: number;
  /** All that was generated, reasoning included. */
  readonly outputTokens: number;
  /** The part of `outputTokens` that was reasoning. */
  readonly reasoningTokens: number;
}

export interface ReportedUsage extends TokenCounts {
  /** False when a count is missing or cannot be true. */
  readonly reported: boolean;
}

type Generated = Awaited<ReturnType<NonNullable<LanguageModelMiddleware['wrapGenerate']>>>;
/** Usage as a model of the AI SDK states it. */
export type StatedUsage = Generated['usage'];

export const NO_TOKENS: TokenCounts = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

/**
 * Reads what a model states. The SDK turns a count that the provider left out into zero, so that zero is believed only
 * where it can be true: no prompt has no tokens, and no answer that holds something took none.
 * @param produced whether anything was generated.
 */
export function readUsage(usage: StatedUsage, produced: boolean): ReportedUsage {
  const input = count(usage.inputTokens.total);
  const output = count(usage.outputTokens.total);
  const cached = count(usage.inputTokens.cacheRead) ?? 0;
  const written = count(usage.inputTokens.cacheWrite) ?? 0;
  const reasoning = count(usage.outputTokens.reasoning) ?? 0;
  const isWhole = input !== undefined && input > 0 && output !== undefined && (output > 0 || !produced);
  // A part that is larger than the whole says that one of the two is wrong, and not which.
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

/** The sum of several answers. It counts as reported only when every one of them does, and there is one. */
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
