import { readFileSync } from 'node:fs';
import { MANAGEMENT_ROUTES } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { managementOpenApi } from './management-openapi.ts';

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

const document = managementOpenApi();
const operations = Object.entries(document.paths as unknown as Paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

// Made anew, in the package's directory, by
// node -e "console.log(JSON.stringify(require('./src/management-openapi.ts').managementOpenApi()))" > management-contract.json
// and the formatter after it.
test('the checked-in document is the one that the schemas make', () => {
  const checkedIn = readFileSync(new URL('../management-contract.json', import.meta.url), 'utf8');
  expect(JSON.parse(checkedIn)).toEqual(document);
});

test('D-01 it has every route once, with its request, its answer and its refusals', () => {
  const described = operations.map(
    ({ path, method, operation }) => `${method} ${path} ${operation.operationId}`,
  );
  const declared = Object.entries(MANAGEMENT_ROUTES).map(
    ([name, { method, path }]) =>
      `${method.toLowerCase()} /internal/${path.replaceAll(/:(\w+)/g, '{$1}')} ${name}`,
  );
  expect(described).toEqual(declared);
  for (const { method, operation } of operations) {
    const [status] = Object.keys(operation.responses);
    expect(Object.keys(operation.responses[status as string]?.content ?? {}).length).toBeGreaterThan(0);
    expect(Object.keys(operation.responses)).toEqual(
      expect.arrayContaining(['400', '403', '404', '501', '502']),
    );
    expect(operation.requestBody === undefined).toBe(method === 'get');
    const scope = operation.parameters.filter(({ name }) => name === 'tenantId' || name === 'scopeId');
    for (const parameter of scope) expect(parameter).toMatchObject({ in: 'query', required: true });
  }
});

test('every reference leads somewhere, and nothing lies about unused', () => {
  const text = JSON.stringify(document);
  const references = new Set(
    [...text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)].map(([, kind, name]) => `${kind}/${name}`),
  );
  const components = document.components as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  const there = Object.entries(components)
    .filter(([kind]) => kind !== 'securitySchemes')
    .flatMap(([kind, members]) => Object.keys(members).map((name) => `${kind}/${name}`));
  expect([...references].toSorted()).toEqual(there.toSorted());
});
