/** The MCP endpoint of an operation mount: admits the caller, lists the tools, and invokes operations (spec 4.5.3). */
import {
  type EntityRef,
  type OperationStub,
  PlatformError,
  type Problem,
  problemSchema,
} from '@freehold/contracts';
import { requireOwnAddress } from '@freehold/contracts/http';
import { httpBinding, type OperationDeclaration, type OperationTable } from '@freehold/operations';
import {
  type Agreed,
  agreementTo,
  answerMcp,
  type ConsentQuestion,
  contentBlocks,
  failed,
  malformed,
  readCallMeta,
  type ToolAnswer,
  type ToolCall,
  type WaitingQuestions,
} from '@freehold/operations/mcp';
import type { Implementation } from '@modelcontextprotocol/server';
import type { Context, Env } from 'hono';
import { type ProblemOptions, problemResponse } from '../lib/problem-response.ts';
import { privateHeaders, readBody } from '../lib/request.ts';
import { operationPrompts, type ShownOf } from './prompts.ts';
import { type McpRecord, recordResources, resourcePolicy } from './records.ts';
import { type McpTool, mcpToolsOf } from './tools.ts';

/** A scope as one caller sees it, perhaps with the operations that the caller should see as tools. */
export interface ListingStub extends OperationStub {
  /**
   * The operations of these that the caller may perform now, for one record or for all. The others are not listed;
   * calling one is refused by `invoke` all the same. Default: every operation is listed.
   */
  listable?(operations: readonly string[]): Promise<readonly string[]>;
  /**
   * A page of the history of a record, by the text of its id. It rejects as reading the record does. Default: records have
   * no history.
   */
  history?(record: EntityRef, page: { readonly limit: number; readonly cursor?: string }): Promise<unknown>;
  /** The questions of this caller's tool calls that wait for the person. Default: clients of 2025-11-25 ask nothing. */
  readonly questions?: WaitingQuestions;
}

export interface McpOptions<E extends Env = Env> {
  /** The path of the endpoint, from the root of the app. Default: `{basePath}/mcp`. */
  readonly path?: string;
  /** Default: the title and version of the OpenAPI document. */
  readonly serverInfo?: Implementation;
  /**
   * Host names that the endpoint answers to beside that of `ownOrigin`. Without either it answers to loopback names
   * only: a page could make any other name lead here (DNS rebinding).
   */
  readonly hostnames?: readonly string[];
  /** The types of records that are resources, in the order of their list. Default: none. */
  readonly records?: readonly McpRecord[];
  /**
   * The `WWW-Authenticate` of a 401, for an application that takes access tokens: the `bearerChallenge` of
   * `@freehold/auth/resource-server`, which names its metadata (RFC 9728, section 5.1). Null leaves `Bearer`. An error
   * with a response or a challenge of its own keeps it.
   */
  readonly challenge?: (c: Context<E>) => string | null | Promise<string | null>;
}

/** The settings that the mount passes to its endpoint. */
export interface McpEndpointDeps<E extends Env>
  extends ProblemOptions,
    Omit<McpOptions<E>, 'path' | 'serverInfo'> {
  readonly operations: OperationTable;
  readonly serverInfo: Implementation;
  readonly resolveStub: (c: Context<E>) => Promise<ListingStub> | ListingStub;
  readonly bodyLimitBytes?: number;
  readonly ownOrigin?: (c: Context<E>) => string;
}

/**
 * Returns the handler of POST at the endpoint: revision 2026-07-28 and, without stored sessions, those before it. A refusal
 * before there is a message is a problem document; later it is JSON-RPC.
 * @throws Error at once when the tools cannot be made ({@link mcpToolsOf}).
 */
export function makeMcpEndpoint<E extends Env>(
  deps: McpEndpointDeps<E>,
): (c: Context<E>) => Promise<Response> {
  const { operations, serverInfo, bodyLimitBytes, hostnames = [], records = [] } = deps;
  const tools = mcpToolsOf(operations);
  const prompts = operationPrompts(operations, tools);
  const resources = records.length === 0 ? null : recordResources(operations, records);
  const problems: ProblemOptions = {
    ...(deps.onIncident === undefined ? {} : { onIncident: deps.onIncident }),
    ...(deps.newRequestId === undefined ? {} : { newRequestId: deps.newRequestId }),
  };

  return async (c) => {
    requireOwnAddress(c.req.raw, { origin: deps.ownOrigin?.(c), hostnames });
    const stub = await admitted(c, deps);
    // A failure is recorded as that of a route is.
    const record = (thrown: unknown) => void problemResponse(c, thrown, problems);
    const listable = () =>
      listableOf(stub, operations).catch((thrown: unknown) => {
        record(thrown);
        throw failed('The list cannot be made right now.', thrown);
      });
    const shownOf: ShownOf = async (all) => {
      const names = await listable();
      return all.filter(({ operation }) => names.has(operation));
    };
    try {
      return await answerMcp(c.req.raw, () => readBody(c, bodyLimitBytes), {
        serverInfo,
        tools,
        listed: () => shownOf(tools),
        ...(prompts ? { prompts: prompts(shownOf) } : {}),
        ...(resources ? { resources: resourcePolicy(resources, { stub, listable, record }) } : {}),
        call: (call) => invokeTool(stub, operations, call),
        ...(stub.questions ? { questions: stub.questions } : {}),
        problemOf: (thrown) => problemOf(c, thrown, problems),
        headers: { ...privateHeaders(c), 'x-content-type-options': 'nosniff' },
      });
    } catch (thrown) {
      if (thrown instanceof PlatformError) throw thrown;
      return problemResponse(c, thrown, problems);
    }
  };
}

async function listableOf(stub: ListingStub, operations: OperationTable): Promise<ReadonlySet<string>> {
  const names = Object.keys(operations);
  return new Set(stub.listable ? await stub.listable(names) : names);
}

/** Invokes the operation as its route does. Where it destroys something, its person agrees first, if their client can ask. */
async function invokeTool(
  stub: ListingStub,
  operations: OperationTable,
  call: ToolCall<McpTool>,
): Promise<ToolAnswer | ConsentQuestion> {
  const { tool, given, meta, consent } = call;
  const { operation } = tool;
  const declaration = operations[operation];
  if (!declaration) throw malformed('There is no such tool.');
  const conditions = conditionsOf(meta);
  const asksFirst = consent && tool.annotations.destructiveHint && (await mayHappen(stub, declaration, call));
  const agreed: Partial<Agreed> | ConsentQuestion = asksFirst ? agreementTo(call, consent) : {};
  if ('question' in agreed) return agreed;
  const isRead = httpBinding(operation, declaration).method === 'GET';
  const result = await stub.invoke({
    operation,
    input: given,
    ...(isRead ? {} : { ...agreed, ...conditions }),
  });
  return { ...result, value: result.output, isContent: declaration.output === contentBlocks };
}

/** Whether a call is of a valid form, and its caller may make it. Another one is refused without a question. */
async function mayHappen(
  stub: ListingStub,
  { input }: OperationDeclaration,
  { tool: { operation }, given }: ToolCall<McpTool>,
): Promise<boolean> {
  if (!input.safeParse(given).success) return false;
  return stub.listable ? (await stub.listable([operation])).length > 0 : true;
}

function conditionsOf(meta: ToolCall<McpTool>['meta']): ReturnType<typeof readCallMeta> {
  try {
    return readCallMeta(meta);
  } catch (error) {
    throw error instanceof PlatformError ? malformed(error.message) : error;
  }
}

/** The problem document of a thrown value, recorded as for a route. */
async function problemOf(c: Context, thrown: unknown, options: ProblemOptions): Promise<Problem> {
  const document: unknown = await problemResponse(c, thrown, options)
    .json()
    .catch(() => undefined);
  const parsed = problemSchema.safeParse(document);
  if (parsed.success) return parsed.data;
  // The error has a response of its own, perhaps a redirect, which no tool result can carry.
  const cause = new PlatformError('internal', 'Something went wrong on our side. It has been recorded.', {
    cause: thrown,
  });
  return problemSchema.parse(await problemResponse(c, cause, options).json());
}

/**
 * The caller's stub. It is settled first: an anonymous caller's message is not read, and tools are not listed to it.
 */
async function admitted<E extends Env>(c: Context<E>, deps: McpEndpointDeps<E>): Promise<ListingStub> {
  try {
    return await deps.resolveStub(c);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== 'unauthenticated') throw thrown;
    const challenge = (await deps.challenge?.(c)) ?? null;
    if (challenge === null || thrown.headers?.['www-authenticate'] !== undefined) throw thrown;
    const { code, message, reason, errors, cause } = thrown;
    throw new PlatformError(code, message, {
      ...(reason === undefined ? {} : { reason }),
      ...(errors === undefined ? {} : { errors }),
      headers: { ...thrown.headers, 'www-authenticate': challenge },
      cause,
    });
  }
}
