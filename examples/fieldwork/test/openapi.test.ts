/** The OpenAPI document of a real instance: complete, and without a finding of two linters. */
import type { OpenApiDocument } from '@freehold/operations/openapi';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import core from '@stoplight/spectral-core';
import parsers from '@stoplight/spectral-parsers';
import rulesets from '@stoplight/spectral-rulesets';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fixture, openFixture } from './fixture.ts';

let fixture: Fixture;
let document: OpenApiDocument;
beforeAll(async () => {
  fixture = await openFixture();
  const ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
  await ada.get('/api/me');
  document = await ada.get('/api/openapi.json');
});
afterAll(() => fixture[Symbol.asyncDispose]());

/** Described for people at `/api/auth/login` and `logout`; pages, the platform's contract and metadata are no part of the API. */
const BESIDE = [/^\/api\/auth\//, /^\/oauth\//, /^\/internal\//, /^\/\.well-known\//];

/** A path with its parameters by position: a mount does not name them as its declaration does. */
const shapeOf = (path: string) => path.replaceAll(/:\w+|\{\w+\}/g, '*');

test('lists every route that is served, with those that are supplied', () => {
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${shapeOf(path)}`),
  );
  const served = fixture.fieldwork.app.routes
    .filter(({ method, path }) => method !== 'ALL' && method !== 'HEAD' && !path.endsWith('*'))
    .filter(({ path }) => !BESIDE.some((each) => each.test(path)))
    .map(({ method, path }) => `${method} ${shapeOf(path)}`);
  expect(served.length).toBeGreaterThan(60);
  expect(served.filter((route) => !documented.includes(route))).toEqual([]);
  const own = documented.filter((route) => !/\/api\/auth\/|\/embed\//.test(route));
  expect(own.filter((route) => !served.includes(route))).toEqual([]);
});

test('names its entities, and has the address of the instance, groups and credentials', () => {
  expect(Object.keys(document.components.schemas)).toEqual(
    expect.arrayContaining(['Customer', 'Invite', 'Invoice', 'Order', 'OrderSummary', 'Site']),
  );
  expect(document.servers).toMatchObject([{ url: fixture.pipes.origin }]);
  expect(document.tags?.filter(({ description }) => description.startsWith('The operations of'))).toEqual([]);
  expect(document.security).toEqual([{ session: [] }, { bearer: [] }]);
});

test('has no finding of Redocly (recommended) and of Spectral (oas)', async () => {
  const source = JSON.stringify(document);
  const config = await createConfig({ extends: ['recommended'] });
  const redocly = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  expect(redocly.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  const linter = new core.Spectral();
  linter.setRuleset({ extends: [rulesets.oas], rules: {} } as never);
  const spectral = await linter.run(new core.Document(source, parsers.Json, 'openapi.json'));
  expect(spectral.map(({ code, message, path }) => [code, message, path.join(' > ')])).toEqual([]);
});
