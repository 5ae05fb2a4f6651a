import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readSurface, type Surface, surfaceChanges } from './surface.ts';

test('routes, schemas, tools and commands are those that are recorded (spec C-32)', async () => {
  const recorded = JSON.parse(readFileSync(new URL('surface.json', import.meta.url), 'utf8')) as Surface;
  const changes = surfaceChanges(recorded, await readSurface());
  expect(
    changes,
    `The public surface has moved. Where that is meant, record it: node tests/surface/write.ts\n${changes.join('\n')}`,
  ).toEqual([]);
});

test('a comparison names what was removed and what is new', () => {
  const recorded = { routes: ['GET /a a 1', 'GET /b b 1'] };
  expect(surfaceChanges(recorded, { routes: ['GET /a a 2', 'GET /b b 1'] })).toEqual([
    'routes: was GET /a a 1',
    'routes: is  GET /a a 2',
  ]);
});
