import { readFileSync } from 'node:fs';
import { adminOperations } from '@freehold/directory/declarations';
import { expect, test } from 'vitest';
import { openApiDocument } from '../openapi/document.ts';
import { apiText } from './api-text.ts';

test('C-32: docs/api.md is what the declarations say: node packages/control-plane/src/docs/write.ts > docs/api.md', () => {
  const text = apiText(openApiDocument(adminOperations));
  const written = readFileSync(new URL('../../../../docs/api.md', import.meta.url), 'utf8');
  expect(written).toBe(text);
  for (const name of Object.keys(adminOperations)) expect(text).toContain(`\`${name}\``);
});
