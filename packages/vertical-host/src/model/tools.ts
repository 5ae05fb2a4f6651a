/** Functions that a model may call while it answers. */
import { PlatformError, toFailure } from '@freehold/contracts';
import type { ToolSet, tool } from 'ai';
import type { z } from 'zod';

/** A function for the model. It runs in the vertical, never at the provider. */
export interface ModelTool {
  /** Its purpose, for the model to read. */
  readonly description: string;
  /** Its input. The model sees its JSON Schema, and the model's input is checked. */
  readonly input: z.ZodType;
  /**
   * Returns JSON. The model reads a `PlatformError`, and may correct itself; any other error fails the call, because
   * its message could hold data that the provider must not read.
   */
  run(input: never, options: { readonly signal: AbortSignal }): unknown;
}

/** By name: 1 to 64 letters, digits, `_` and `-`. */
export type ModelTools = Readonly<Record<string, ModelTool>>;

/** Makes tools of the AI SDK. `fail` receives an error that fails the call. */
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
