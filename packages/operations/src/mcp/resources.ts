/** Resources: what a program reads as it stands, by its address (MCP 2026-07-28, "Resources"). */
import type { McpServer } from '@modelcontextprotocol/server';
import { pageAfter } from './pages.ts';

/** One resource of a list. */
export interface McpResource {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly mimeType: string;
}

/** A kind of resources: its addresses as a template (RFC 6570). */
export interface McpResourceTemplate {
  readonly name: string;
  readonly uriTemplate: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
}

export interface McpResourceText {
  readonly uri: string;
  readonly mimeType: string;
  readonly text: string;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export interface ResourcePage {
  readonly resources: readonly McpResource[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

/** The resources of an endpoint. Failures are errors of the protocol: there is no result that could say so. */
export interface ResourcePolicy {
  /** Every template, also those that this caller is not shown, in the order of the list. */
  readonly templates: readonly McpResourceTemplate[];
  /** The templates that are listed to this caller. Reading by another is refused by `read`. */
  listed(): Promise<readonly McpResourceTemplate[]>;
  /** @throws ProtocolError "Invalid params" for a cursor that this list did not give out. */
  list(cursor: string | undefined): Promise<ResourcePage>;
  /** @throws ResourceNotFoundError for one that is not there, and for one that this caller may not read. */
  read(uri: string): Promise<McpResourceText>;
}

/** Serves resources. */
export function serveResources(mcp: McpServer, policy: ResourcePolicy): void {
  const { server } = mcp;
  server.setRequestHandler('resources/list', async ({ params }) => {
    const { resources, ...more } = await policy.list(params?.cursor);
    return { resources: [...resources], ...more };
  });
  server.setRequestHandler('resources/templates/list', async ({ params }) => {
    const names = policy.templates.map(({ name }) => name);
    const { items, ...more } = pageAfter({ list: 'templates', names }, await policy.listed(), params?.cursor);
    return { resourceTemplates: [...items], ...more };
  });
  server.setRequestHandler('resources/read', async ({ params }) => ({
    contents: [{ ...(await policy.read(params.uri)) }],
  }));
}
