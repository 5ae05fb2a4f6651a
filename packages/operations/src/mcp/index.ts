/** Operations as tools of the Model Context Protocol. Start with `endpoint.ts`. */
export * from './content-blocks.ts';
export * from './endpoint.ts';
export * from './meta.ts';
export { MCP_PAGE_MAX } from './pages.ts';
export * from './refusals.ts';
export * from './tools.ts';
