/** OpenAPI documents: their assembly, and the parts that every surface shares. Start with `document.ts`. */
export * from './components.ts';
export { assembleDocument, type OpenApiDocument, type OpenApiSource, type Part } from './document.ts';
