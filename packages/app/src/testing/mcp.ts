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

export interface TestResource {
  /** `freehold://order/ord_1`. */
  readonly uri: string;
  readonly title?: string | undefined;
}

export interface TestPrompt {
  /** That of its tool: `order_create`. */
  readonly name: string;
  readonly title?: string | undefined;
  /** The names in the braces of its sentence. */
  readonly arguments: readonly string[];
}

export interface Mcp {
  /** The tools that this caller may use now. */
  tools(): Promise<readonly TestTool[]>;
  /** @throws Error when the endpoint itself refuses, as for an unknown tool or a caller who is not signed in. */
  call(tool: string, input?: object): Promise<ToolAnswer>;
  /** The prompts of the tools that this caller may use now. @throws Error where no operation has one. */
  prompts(): Promise<readonly TestPrompt[]>;
  /** The words of a prompt that a person picked. @throws Error for one that is not listed, and for other arguments. */
  prompt(name: string, given?: Readonly<Record<string, string>>): Promise<string>;
  /** The records that this caller is listed as resources: the first page. */
  resources(): Promise<readonly TestResource[]>;
  /** A record, or its history. @throws Error for one that is not there or may not be read. */
  read(uri: string): Promise<unknown>;
}

const REVISION = '2026-07-28';
const tool = z.looseObject({
  name: z.string(),
  description: z.string().optional(),
  inputSchema: z.unknown(),
});
const resourceList = z.looseObject({
  resources: z.array(z.looseObject({ uri: z.string(), title: z.string().optional() })),
});
const promptList = z.looseObject({
  prompts: z.array(
    z.looseObject({
      name: z.string(),
      title: z.string().optional(),
      arguments: z.array(z.looseObject({ name: z.string() })).default([]),
    }),
  ),
});
const promptWords = z.looseObject({
  messages: z.tuple([z.looseObject({ content: z.looseObject({ text: z.string() }) })]),
});
const resourceContents = z.looseObject({ contents: z.tuple([z.looseObject({ text: z.string() })]) });
const toolList = z.looseObject({ tools: z.array(tool) });
const toolAnswer = z.looseObject({
  isError: z.boolean().optional(),
  structuredContent: z.unknown().optional(),
  content: z.array(z.looseObject({ text: z.string().optional() })).default([]),
  _meta: z.record(z.string(), z.unknown()).default({}),
});

export function makeMcp(http: Http): Mcp {
  const ask = async (
    method: string,
    params: { readonly name?: string; readonly uri?: string; readonly arguments?: object },
  ) => {
    const named = params.name ?? params.uri;
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
        ...(named === undefined ? {} : { 'mcp-name': named }),
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
    prompts: async () =>
      promptList.parse(await ask('prompts/list', {})).prompts.map(({ name, title, arguments: taken }) => ({
        name,
        title,
        arguments: taken.map((each) => each.name),
      })),
    prompt: async (name, given = {}) =>
      promptWords.parse(await ask('prompts/get', { name, arguments: given })).messages[0].content.text,
    resources: async () => resourceList.parse(await ask('resources/list', {})).resources,
    read: async (uri) => {
      const { contents } = resourceContents.parse(await ask('resources/read', { uri }));
      return JSON.parse(contents[0].text);
    },
  };
}
