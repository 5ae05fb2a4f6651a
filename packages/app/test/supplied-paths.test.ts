/** The check of a declaration knows every address that is mounted before the operations. */
import { defineApp, makeApp } from '@freehold/app';
import { httpBinding, routerPath } from '@freehold/operations';
import { expect, test } from 'vitest';
import { covers, suppliedPaths } from '../src/declaration/supplied-paths.ts';
import { shop } from './shop.ts';

test('every supplied address below /api is one that no operation can have', () => {
  const app = defineApp(shop());
  const { app: mounted } = makeApp(app, {
    engine: { unit: () => ({}) } as never,
    platformSecret: undefined,
    now: () => 0,
    random: (bytes) => new Uint8Array(bytes),
    fetch: async () => new Response(null, { status: 503 }),
    onIncident: () => undefined,
  });
  const declared = new Set(
    Object.entries(app.operations).map(([name, each]) => routerPath(httpBinding(name, each).path)),
  );
  const supplied = suppliedPaths(app, app.records);
  const paths = new Set(mounted.routes.map(({ path }) => path));
  const addresses = [...paths].filter((path) => /^\/api\/[^*]+$/.test(path) && !declared.has(path));
  expect(addresses.length).toBeGreaterThan(20);
  expect(addresses.filter((path) => !supplied.some((each) => covers(each, path)))).toEqual([]);
});
