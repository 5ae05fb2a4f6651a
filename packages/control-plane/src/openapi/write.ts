/**
 * Prints the OpenAPI document of the real table, for the checked-in copy:
 * `node packages/control-plane/src/openapi/write.ts > packages/control-plane/openapi.json`.
 */
import { adminOperations } from '@freehold/directory/declarations';
import { openApiDocument } from './document.ts';
import { openApiText } from './parts.ts';

console.log(openApiText(openApiDocument(adminOperations)).trimEnd());
