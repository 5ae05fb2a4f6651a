import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineUnit, type UnitContext } from '@freehold/store';
import { expect, onTestFinished, test } from 'vitest';
import { openNodeEngine } from './index.ts';

const notes = defineUnit({
  kind: 'notes',
  migrations: [
    {
      name: 'notes',
      migrations: [{ version: 1, name: 'notes', sql: 'CREATE TABLE notes (text TEXT) STRICT' }],
    },
  ],
  queries: [],
  open: ({ db }: UnitContext) => ({
    add: (text: string): null => {
      db.run('INSERT INTO notes (text) VALUES (?)', text);
      return null;
    },
  }),
});

test('spec C-22: the size of a database is read without opening it', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-bytes-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true, force: true }));
  const options = { dataDirectory, onIncident: () => undefined };
  const first = openNodeEngine(options);
  await first.unit(notes, 'a', { create: true }).add('x'.repeat(100_000));
  await first.close();

  const engine = openNodeEngine(options);
  onTestFinished(() => engine.close());
  const bytes = await engine.databaseBytes(notes, 'a');
  expect(bytes).toBe(statSync(join(dataDirectory, 'notes', 'a.sqlite')).size);
  expect(bytes).toBeGreaterThan(100_000);
  expect(engine.openUnits).toBe(0);
  expect(await engine.databaseBytes(notes, 'never-made')).toBeNull();
  expect(existsSync(join(dataDirectory, 'notes', 'never-made.sqlite'))).toBe(false);
  await expect(engine.databaseBytes(notes, '../notes/a')).rejects.toThrow(TypeError);
});
