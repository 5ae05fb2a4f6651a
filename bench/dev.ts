/** `freehold dev`: the time from a save of an operation's file until the new version answers over HTTP. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type DevEvent, startDev } from '@freehold/dev';
import { atMostMs, type Row } from './harness.ts';

const SAVES = 50;
const LIMIT_MS = 1_000;
const POLL_MS = 2;

const APP = `import { defineApp, signedIn } from '@freehold/app';
import { NUMBER, operations } from './notes.ts';

export default defineApp({
  manifest: {
    slug: 'notes', name: 'Notes', version: '0.1.0',
    permissions: { 'note.write': 'Write notes' },
    roles: { owner: { name: 'Owner', permissions: ['note.write'] } },
    ownerRole: 'owner', entities: {}, env: {},
  },
  migrations: [{ version: 1, name: 'notes', sql: 'CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT' }],
  operations,
  routes: (app) => app.get('/number', (c) => c.text(String(NUMBER))),
  authenticatedPrincipal: signedIn(),
});
`;

const notes = (number: number) => `import { operation } from '@freehold/kernel';
import { z } from 'zod';

export const NUMBER = ${number};

export const operations = {
  'note/create': operation({
    summary: 'Write note ${number}',
    input: z.strictObject({ text: z.string() }),
    output: z.object({ id: z.string() }),
    permission: 'note.write',
    run: (ctx, { text }) => {
      const id = ctx.newId('not');
      ctx.sql.run('INSERT INTO notes (id, text) VALUES (?, ?)', id, text);
      return { id };
    },
  }),
};
`;

export async function benchDev(directory: string): Promise<Row[]> {
  const file = join(directory, 'src/notes.ts');
  mkdirSync(join(directory, 'src'));
  symlinkSync(fileURLToPath(new URL('../node_modules', import.meta.url)), join(directory, 'node_modules'));
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  writeFileSync(join(directory, 'src/app.ts'), APP);
  writeFileSync(file, notes(0));
  const onEvent = (event: DevEvent): void => {
    if (event.type === 'broken' || event.type === 'fault') throw new Error(JSON.stringify(event));
  };
  const dev = await startDev({ folder: directory, port: 0, issuerPort: 0, onEvent });
  try {
    const times: number[] = [];
    for (let number = 1; number <= SAVES; number++) {
      const startMs = performance.now();
      writeFileSync(file, notes(number));
      while ((await (await fetch(`${dev.ready.url}/number`)).text()) !== String(number)) {
        if (performance.now() - startMs > 10 * LIMIT_MS) throw new Error(`save ${number} is not served`);
        await setTimeout(POLL_MS);
      }
      times.push(performance.now() - startMs);
    }
    times.sort((a, b) => a - b);
    const figure = (which: string, ms = Number.POSITIVE_INFINITY): Row =>
      atMostMs({ name: `dev: a save until it is served, ${which} of ${SAVES}`, ms, limitMs: LIMIT_MS });
    return [figure('median', times[SAVES / 2]), figure('worst', times.at(-1))];
  } finally {
    await dev.close();
  }
}
