/** An instance as a language model meets it: its MCP endpoint, spoken to over HTTP. */
import { type Problem, problemSchema } from '@freehold/contracts';
import { z } from 'zod';
import type { Http } from './http.ts';

export interface TestTool {
  /** `order_create`. */
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
}

export interface ToolAnswer {
  /** The tool's output; undefined where it was refused. */
  readonly output: unknown;
  /** Null where it was done. */
  readonly refused: Problem | null;
}

export interface Mcp {
  /** The tools that this caller may ever use. */
  tools(): Promise<readonly TestTool[]>;
  /** @throws Error when the endpoint itself refuses, as for an unknown tool or a caller who is not signed in. */
  call(tool: string, input?: object): Promise<ToolAnswer>;
}

const REVISION = '2026-07-28';
const tool = z.looseObject({
  name: z.string(),
  description: z.string().optional(),
  inputSchema: z.unknown(),
});
const toolList = z.looseObject({ tools: z.array(tool) });
const toolAnswer = z.looseObject({
  isError: z.boolean().optional(),
  structuredContent: z.unknown().optional(),
  content: z.array(z.looseObject({ text: z.string().optional() })).default([]),
  _meta: z.record(z.string(), z.unknown()).default({}),
});

export function makeMcp(http: Http): Mcp {
  const ask = async (method: string, params: { readonly name?: string; readonly arguments?: object }) => {
    const response = await http(
      'POST',
      '/api/mcp',
      {
        jsonrpc: '2.0',
        id: 1,
        method,
        params: {
          ...params,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': REVISION,
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      },
      {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': REVISION,
        'mcp-method': method,
        ...(params.name === undefined ? {} : { 'mcp-name': params.name }),
      },
    );
    const said = await response.text();
    if (!response.ok) throw new Error(`${method} was answered ${response.status}: ${said}`);
    const { result, error } = z
      .looseObject({ result: z.unknown().optional(), error: z.unknown().optional() })
      .parse(JSON.parse(said));
    if (error !== undefined) throw new Error(`${method} was refused: ${JSON.stringify(error)}`);
    return result;
  };
  return {
    tools: async () => toolList.parse(await ask('tools/list', {})).tools,
    call: async (name, input = {}) => {
      const answer = toolAnswer.parse(await ask('tools/call', { name, arguments: input }));
      if (!answer.isError) return { output: answer.structuredContent, refused: null };
      const problem = problemSchema.safeParse(answer._meta['freehold/problem']);
      if (problem.success) return { output: undefined, refused: problem.data };
      throw new Error(`${name} failed: ${answer.content.map((part) => part.text ?? '').join(' ')}`);
    },
  };
}
