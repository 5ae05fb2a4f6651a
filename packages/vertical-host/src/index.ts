/**
 * The HTTP surfaces of a vertical's worker, for the platform, its members and visitors. Start with the `mount…` files.
 */

export type { PlatformSecret } from '@freehold/contracts/http';
export { type ContentBlocks, contentBlocks, MCP_META, type McpToolHints } from '@freehold/operations/mcp';
export { PlatformRequestError, type PlatformRequestOptions } from './connect/ask-platform.ts';
export * from './connect/request-connect-url.ts';
export * from './connect/request-tenant.ts';
export type { DescribedBody, DescribedRoute } from './lib/described-routes.ts';
export type { OpenApiInfo } from './lib/openapi.ts';
export { ROUTE_FAULT_CODES } from './lib/operation-routes.ts';
export * from './lib/platform-surface-deps.ts';
export {
  type ProblemOptions,
  problemResponse,
  type RequestIncidentSink,
  requestIds,
} from './lib/problem-response.ts';
export { requestIdOf } from './lib/request.ts';
export * from './management-openapi.ts';
export type { ListingStub, McpOptions } from './mcp/mcp-endpoint.ts';
export type { McpRecord } from './mcp/records.ts';
export { type McpTool, mcpToolsOf } from './mcp/tools.ts';
export * from './mount-operations.ts';
export * from './mount-platform-surface.ts';
export * from './mount-problem-docs.ts';
export { webOrigin } from './public/cors.ts';
export * from './public/mount-public-surface.ts';
export { makePublicActor } from './public/public-actor.ts';
export { publicRoutes } from './public/public-routes.ts';
export type * from './public/public-surface.ts';
export { makeVisitorLimit, type VisitorLimit, type VisitorLimitOptions } from './public/visitor-limit.ts';
export { mountWidgetScript, type PinnedScript, type WidgetScriptOptions } from './public/widget-script.ts';
export { findRouteFaults } from './route-faults.ts';
