/** Rendered documentation of an OpenAPI document, as one page of its own. Start with `api-docs.ts`. */
export { type DocsPage, makeApiDocs } from './api-docs.ts';
