/** Prints the page: `node packages/control-plane/src/docs/write.ts > docs/api.md`. */
import { adminOperations } from '@freehold/directory/declarations';
import { openApiDocument } from '../openapi/document.ts';
import { apiText } from './api-text.ts';

console.log(apiText(openApiDocument(adminOperations)).trimEnd());
