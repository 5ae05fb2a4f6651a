/** The MCP endpoint for the builder's coding agent. It exists in this server alone, on loopback. */
import { PlatformError, type Problem, toProblem } from '@freehold/contracts';
import { readJsonObject } from '@freehold/contracts/http';
import { answerMcp } from '@freehold/operations/mcp';
import { type AgentTool, type AgentToolsOptions, makeAgentTools } from './tools.ts';

export interface DevAgentOptions extends AgentToolsOptions {
  /** The origin of this server. */
  readonly origin: string;
}

/** Answers POST requests of programs. The host name was checked by the server before. */
export function makeDevAgent(options: DevAgentOptions): (request: Request) => Promise<Response> {
  const tools = makeAgentTools(options);
  return async (request) => {
    // A browser names the origin of each page that posts, and no page may read data or run operations here.
    if (request.headers.has('origin'))
      return refusal(
        new PlatformError('forbidden', 'This endpoint is for programs, and not for pages of a browser.'),
      );
    if (request.method !== 'POST')
      return refusal(new PlatformError('method_not_allowed', 'This endpoint answers POST only.'));
    try {
      return await answerMcp<AgentTool>(request, () => readJsonObject(request), {
        serverInfo: { name: 'freehold-dev', title: 'freehold dev', version: '0.1.0' },
        tools,
        listed: () => tools,
        call: async ({ tool, given }) => ({ value: await tool.run(given), replayed: false }),
        problemOf,
        headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
      });
    } catch (error) {
      return refusal(error);
    }
  };
}

/** The caller is the builder, so that every failure is told in its own words. */
function problemOf(thrown: unknown): Problem {
  if (thrown instanceof PlatformError) return toProblem(thrown);
  return toProblem(new PlatformError('internal', thrown instanceof Error ? thrown.message : String(thrown)));
}

function refusal(thrown: unknown): Response {
  const problem = problemOf(thrown);
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
  });
}
