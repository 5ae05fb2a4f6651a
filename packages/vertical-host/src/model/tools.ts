/** Functions that a model may call while it answers. */
import { PlatformError, toFailure } from '@freehold/contracts';
import type { ToolSet, tool } from 'ai';
import type { z } from 'zod';

/** A function for the model. It runs in the vertical, never at the provider. */
export interface ModelTool {
  /** What it is for, in words for the model. */
  readonly description: string;
  /** What it takes. The model is shown its JSON Schema, and what it passes is checked. */
  readonly input: z.ZodType;
  /**
   * Answers JSON. A `PlatformError` is told to the model, which may do better; anything else that is thrown fails the
   * call, because its message could hold what the provider must not read.
   */
  run(input: never, options: { readonly signal: AbortSignal }): unknown;
}

/** By name: 1 to 64 letters, digits, `_` and `-`. */
export type ModelTools = Readonly<Record<string, ModelTool>>;

/** Makes tools of the AI SDK. `fail` is called with what fails the call. */
export function bindTools(
  tools: ModelTools,
  parts: {
    readonly tool: typeof tool;
    readonly signal: AbortSignal;
    readonly fail: (error: unknown) => void;
  },
): ToolSet {
  const bound = Object.entries(tools).map(([name, { description, input, run }]) => [
    name,
    parts.tool({
      description,
      inputSchema: input,
      execute: async (value: unknown) => {
        try {
          return (await run(value as never, { signal: parts.signal })) ?? null;
        } catch (error) {
          if (error instanceof PlatformError) return { refused: toFailure(error) };
          parts.fail(error);
          throw new Error('the call has failed');
        }
      },
    }),
  ]);
  return Object.fromEntries(bound) as ToolSet;
}
