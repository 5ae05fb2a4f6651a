/**
 * One request to an MCP endpoint: revision 2026-07-28 and, without stored sessions, those before it. The tools, and how a
 * call is made, are a policy; the messages, the list, the results and the refusals are here.
 */
import type { Problem } from '@freehold/contracts';
import {
  type CallToolResult,
  createMcpHandler,
  type Implementation,
  type InputRequiredResult,
  isInputRequiredResult,
  McpServer,
  ProtocolError,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { type AskingSession, beginSession, sessionOf, type WaitingQuestions } from './asking.ts';
import {
  type ConsentChannel,
  type ConsentQuestion,
  consentChannel,
  consentGiven,
  notAgreed,
  questionResult,
  type SaidAnswer,
} from './consent.ts';
import { contentBlocks } from './content-blocks.ts';
import { type McpMessage, readMcpMessage } from './message.ts';
import { MCP_META } from './meta.ts';
import { pageAfter } from './pages.ts';
import { type PromptPolicy, servePrompts } from './prompts.ts';
import { malformed } from './refusals.ts';
import { type ResourcePolicy, serveResources } from './resources.ts';
import type { McpTool } from './tools.ts';

/** The answer of a call. */
export interface ToolAnswer {
  /** The value, or the content blocks of an operation that answers those. */
  readonly value: unknown;
  readonly isContent?: boolean;
  readonly version?: string | null | undefined;
  readonly replayed: boolean;
  /** The recorded call, where calls are recorded. */
  readonly invocation?: string | null;
}

export interface ToolCall<T extends McpTool> {
  readonly tool: T;
  readonly given: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  /** Aborted when the client cancels the call by closing its stream (MCP 2026-07-28, "Cancellation"). */
  readonly signal: AbortSignal;
  /** Tells the client how far the work is; absent where it did not ask. It never rejects. */
  readonly progress?: (step: Progress) => Promise<void>;
  /** Absent where the client cannot ask its person. */
  readonly consent?: ConsentChannel;
}

/** One report on a call. `progress` grows from one to the next (MCP 2026-07-28, "Progress"). */
export interface Progress {
  readonly progress: number;
  readonly message: string;
}

/** The differences between endpoints. */
export interface McpPolicy<T extends McpTool> {
  readonly serverInfo: Implementation;
  /** Every tool, also those that this caller is not shown, in the order of the list. */
  readonly tools: readonly T[];
  /** The tools that are listed to this caller, in the same order. Calling another is refused by `call`. */
  listed(): Promise<readonly T[]> | readonly T[];
  /** Makes a call, or has the person asked first, by the channel of the call. A {@link malformed} is an error of the protocol; whatever else it throws is a result that says so. */
  call(call: ToolCall<T>): Promise<ToolAnswer | ConsentQuestion>;
  /** The questions of this caller that wait. Default: clients of 2025-11-25 and before are asked nothing. */
  readonly questions?: WaitingQuestions;
  /** Default: none, and none are announced. */
  readonly resources?: ResourcePolicy;
  /** Default: none, and none are announced. */
  readonly prompts?: PromptPolicy;
  /** The problem document of a thrown value. Records one that is no `PlatformError`. */
  problemOf(thrown: unknown): Promise<Problem> | Problem;
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Answers a request whose caller is settled. Until there is a message a refusal is thrown; from there on it is JSON-RPC.
 * @param read reads the body as one JSON object.
 * @throws what `read` throws but `validation_failed`, and the cause of an answer that the library could not make: our bug.
 */
export async function answerMcp<T extends McpTool>(
  request: Request,
  read: () => Promise<McpMessage>,
  policy: McpPolicy<T>,
): Promise<Response> {
  const message = await readMcpMessage(read);
  if (message instanceof Response) return dressed(message, policy);
  const session = policy.questions ? sessionOf(request, message, policy.questions) : null;
  const taken = await session?.take(message);
  if (taken) return dressed(taken, policy);
  const errors: Error[] = [];
  const handler = createMcpHandler(() => makeServer(policy, session), {
    onerror: (error) => void errors.push(error),
  });
  const response = await handler.fetch(request, { parsedBody: message });
  // A client that left is no failure of ours: the library answers 499.
  if (response.status >= 500) throw errors.at(-1) ?? new Error('the tools could not be served');
  if (policy.questions) beginSession(message, response);
  return dressed(response, policy);
}

function dressed(
  response: Response,
  policy: { readonly headers: Readonly<Record<string, string>> },
): Response {
  // A copy would make a stream of a body that is text.
  for (const [name, value] of Object.entries(policy.headers)) response.headers.set(name, value);
  return response;
}

/** The server of one request. @param session of a client of an earlier revision that can ask its person. */
function makeServer<T extends McpTool>(policy: McpPolicy<T>, session: AskingSession | null): McpServer {
  const { resources, prompts } = policy;
  // A list changes when a version is deployed or a role is given, and no client is told: so it is not announced.
  const quiet = { listChanged: false };
  const mcp = new McpServer(policy.serverInfo, {
    capabilities: {
      tools: quiet,
      ...(resources ? { resources: quiet } : {}),
      ...(prompts ? { prompts: quiet } : {}),
    },
  });
  if (resources) serveResources(mcp, resources);
  if (prompts) servePrompts(mcp, prompts);
  mcp.server.setRequestHandler('tools/list', async ({ params }, context) => {
    const isAsked = session !== null || consentChannel(context) !== null;
    const names = policy.tools.map(({ name }) => name);
    const { items, ...more } = pageAfter({ list: 'tools', names }, await policy.listed(), params?.cursor);
    return { tools: items.map((tool) => listed(tool, isAsked)), ...more };
  });
  mcp.server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = policy.tools.find(({ name }) => name === params.name);
    if (!tool) throw malformed('There is no such tool.');
    const call = { tool, given: params.arguments ?? {}, meta: params._meta, ...channelOf(context) };
    const { id: callId, signal } = context.mcpReq;
    const ask: Ask | null =
      session &&
      ((question) =>
        session.ask(question, {
          ...{ callId, signal },
          send: async (asked) => mcp.server.transport?.send(asked, { relatedRequestId: callId }),
        }));
    const result = await resultOf(policy, call, ask);
    return isInputRequiredResult(result)
      ? result
      : mcp.server.projectCallToolResult(result, tool.outputSchema);
  });
  return mcp;
}

/** The line to the client of a call while it is made. A client that left hears nothing, and that is no failure of ours. */
function channelOf(context: ServerContext): Pick<ToolCall<McpTool>, 'signal' | 'progress' | 'consent'> {
  const { signal, notify, _meta } = context.mcpReq;
  const consent = consentChannel(context);
  const progressToken = _meta?.progressToken;
  const report = (step: Progress) =>
    notify({ method: 'notifications/progress', params: { ...step, progressToken } }).catch(() => undefined);
  return {
    signal,
    ...(progressToken === undefined ? {} : { progress: report }),
    ...(consent === null ? {} : { consent }),
  };
}

const ASK_FIRST = 'Ask your person before you call it.';

/** @param isAsked whether the client has its person asked before a destructive call. Otherwise the model is told to. */
function listed({ askFirst = ASK_FIRST, ...tool }: McpTool, isAsked: boolean): Tool {
  const { name, title, inputSchema, outputSchema, annotations } = tool;
  const output = outputSchema === undefined ? {} : { outputSchema };
  const description =
    annotations.destructiveHint && !isAsked
      ? `${tool.description.replace(/\.$/, '')}. ${askFirst}`
      : tool.description;
  return { name, title, description, inputSchema, ...output, annotations } as Tool;
}

/** Has the person asked while the call waits. */
type Ask = (question: ConsentQuestion) => Promise<SaidAnswer>;

/** A plan that changes more often while its person reads it is not carried out. */
const QUESTIONS_MAX = 3;

/** Makes a call. @param ask null where its client repeats the call with the answer. */
async function made<T extends McpTool>(
  policy: Pick<McpPolicy<T>, 'call'>,
  call: ToolCall<T>,
  ask: Ask | null,
): Promise<ToolAnswer | ConsentQuestion> {
  if (!ask) return policy.call(call);
  let said: ConsentChannel['said'] = null;
  for (let asked = 0; ; asked += 1) {
    const answer = await policy.call({ ...call, consent: { said } });
    if (!('question' in answer)) return answer;
    if (asked === QUESTIONS_MAX) throw notAgreed('cancelled');
    said = consentGiven(answer.state, await ask(answer));
    // Its result would be read by no client.
    if (call.signal.aborted) throw notAgreed('cancelled');
  }
}

/** A refusal, and a failure of ours, is a result that says so: the model that called can read it and do better. */
async function resultOf<T extends McpTool>(
  policy: Pick<McpPolicy<T>, 'call' | 'problemOf'>,
  call: ToolCall<T>,
  ask: Ask | null,
): Promise<CallToolResult | InputRequiredResult> {
  try {
    const answer = await made(policy, call, ask);
    return 'question' in answer ? questionResult(answer) : answerResult(call.tool, answer);
  } catch (thrown) {
    if (thrown instanceof ProtocolError) throw thrown;
    return problemResult(call.tool, await policy.problemOf(thrown));
  }
}

function answerResult({ outputSchema }: McpTool, answer: ToolAnswer): CallToolResult {
  const { value, version, replayed, invocation } = answer;
  const _meta = {
    ...(version == null ? {} : { [MCP_META.version]: version }),
    ...(replayed ? { [MCP_META.replayed]: true } : {}),
    ...(invocation == null ? {} : { [MCP_META.invocation]: invocation }),
  };
  if (answer.isContent) {
    const parsed = contentBlocks.safeParse(value);
    if (!parsed.success)
      throw new TypeError('the operation answered no content blocks', { cause: parsed.error });
    return { content: parsed.data as CallToolResult['content'], _meta };
  }
  // A client that reads only text reads the same JSON (MCP 2026-07-28, "Structured Content"), so it is written first.
  const text = JSON.stringify(value ?? null);
  // Nothing is only content where that is promised: clients of 2025-11-25 take objects.
  const isSilent = text === 'null' && outputSchema === undefined;
  return {
    content: [{ type: 'text', text }],
    ...(isSilent ? {} : { structuredContent: JSON.parse(text) }),
    _meta,
  };
}

/**
 * A refusal. The document is the text, and `_meta` for software. It is structured content only for a tool that
 * promises none: clients hold structured content to the output schema, some of them on errors too.
 */
function problemResult({ outputSchema }: McpTool, problem: Problem): CallToolResult {
  return {
    isError: true,
    content: [{ type: 'text', text: JSON.stringify(problem) }],
    ...(outputSchema === undefined ? { structuredContent: { ...problem } } : {}),
    _meta: { [MCP_META.problem]: problem },
  };
}
