/** Rendered documentation of an OpenAPI document, from our own origin alone. Start with `api-docs.ts`. */
export { type ApiDocs, type DocsPage, makeApiDocs, type ScriptFile } from './api-docs.ts';
