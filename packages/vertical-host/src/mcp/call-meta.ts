/** What the answer to a tool call says under `_meta` beside its content (spec 4.5.2). */
import type { InvokeResult, Problem } from '@freehold/contracts';
import { MCP_META } from '@freehold/operations/mcp';

/** What a call that was made says beside its answer. */
export function resultMeta({ version, replayed, invocation }: InvokeResult): Record<string, unknown> {
  return {
    ...(version === null ? {} : { [MCP_META.version]: version }),
    ...(replayed ? { [MCP_META.replayed]: true } : {}),
    ...(invocation === null ? {} : { [MCP_META.invocation]: invocation }),
  };
}

/** What a refused call says beside its text. */
export function problemMeta(problem: Problem): Record<string, unknown> {
  return { [MCP_META.problem]: problem };
}
