/** A development server over a builder's folder: good saves are served, and broken ones change nothing. */
import { expect, test } from 'vitest';
import type { DevEvent, Fault } from '../src/index.ts';
import { startDev } from '../src/index.ts';
import { makeSmallApp, type SmallApp } from './small-app.ts';

/** Starts it, and answers what its events say. */
async function open(app: SmallApp, more: Partial<Parameters<typeof startDev>[0]> = {}) {
  const events: DevEvent[] = [];
  const dev = await startDev({
    folder: app.folder,
    port: 0,
    issuerPort: 0,
    onEvent: (event) => void events.push(event),
    ...more,
  });
  return {
    dev,
    events,
    /** The faults of the last save; none when it is served. */
    faults: (): readonly Fault[] => {
      const last = events.findLast(({ type }) => type === 'broken' || type === 'served');
      return last?.type === 'broken' ? last.faults : [];
    },
    get: (path: string, headers: Record<string, string> = {}) =>
      fetch(`${dev.ready.url}${path}`, { headers }),
    [Symbol.asyncDispose]: () => dev.close(),
  };
}

const saved = async ({ dev }: Awaited<ReturnType<typeof open>>) => dev.save();

test('a save is served', async () => {
  using app = makeSmallApp();
  await using server = await open(app);
  expect(server.dev.ready).toMatchObject({ name: 'Shelf' });
  expect((await server.get('/api/me')).status).toBe(200);
  app.edit('src/books/operations.ts', 'const id = ctx', 'const id == ctx');
  await saved(server);
  expect(server.faults()).toMatchObject([{ file: 'src/books/operations.ts', line: 11 }]);
});
