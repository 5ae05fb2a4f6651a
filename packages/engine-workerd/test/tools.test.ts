/** What the tools of this engine promise beyond their contract: bounds, and copies that are on their way. */

import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { createHash } from 'node:crypto';
import { type Admit, migrate, type SqlDatabase, type UnitTools } from '@freehold/store';
import { notesUnit, observed, toolsUnits } from '@freehold/store/contract-suite';
import { beforeEach, describe, expect, test } from 'vitest';
import { durableDatabase } from '../src/durable-database.ts';
import { ahead, NOTES_COPY_BYTES_MAX, openEngine } from './worker.ts';

const HOUR_MS = 3_600_000;
const MEBIBYTE = 1_024 * 1_024;

beforeEach(() => {
  observed.incidents.length = 0;
});

let units = 0;
const [toolsUnit] = toolsUnits;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

async function openNotes() {
  units += 1;
  const key = `notes-${units}`;
  const engine = openEngine();
  const notes = engine.unit(notesUnit, key, { create: true });
  await notes.add({ text: 'first' });
  return { key, notes, tools: engine.tools(notesUnit, key) };
}

/** Adds so many mebibytes of notes. */
async function grow({ notes }: Awaited<ReturnType<typeof openNotes>>, mebibytes: number): Promise<void> {
  for (let i = 0; i < mebibytes * 2; i++) await notes.add({ text: 'ä'.repeat(MEBIBYTE / 4) });
}

const bytesOf = async (tools: UnitTools) =>
  new Uint8Array(await new Response((await tools.export('ndjson')).body).arrayBuffer());
const bodyOf = (bytes: Uint8Array) => new Blob([bytes]).stream() as ReadableStream<Uint8Array>;

/** How many copies and parts of copies an object keeps. */
const kept = (key: string) =>
  runInDurableObject(env.NOTES.getByName(key), (_, { storage }) => [...storage.kv.list()].length - 1);

describe('a copy', () => {
  test('of many parts comes out whole and goes in again, and none of it stays behind', async () => {
    const opened = await openNotes();
    await grow(opened, 3);
    const bytes = await bytesOf(opened.tools);
    expect(bytes.length).toBeGreaterThan(3 * MEBIBYTE);
    const before = await opened.notes.list();
    await opened.notes.add({ text: 'later' });
    await opened.tools.restore('ndjson', bodyOf(bytes));
    expect(await opened.notes.list()).toEqual(before);
    expect(await kept(opened.key)).toBe(0);
  });

  test('that is on its way out is read to its end, whatever becomes of the object', async () => {
    const opened = await openNotes();
    await grow(opened, 2);
    const { body } = await opened.tools.export('ndjson');
    const reader = body.getReader();
    const chunks: Uint8Array[] = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      await opened.notes.add({ text: 'meanwhile' }).catch(() => undefined);
      if (chunks.length === 2) await abortAllDurableObjects();
    }
    const bytes = new Uint8Array(Buffer.concat(chunks));
    await openEngine().tools(notesUnit, opened.key).restore('ndjson', bodyOf(bytes));
    expect(await opened.notes.list()).toHaveLength(5);
  });

  test('that nobody came back for is gone after an hour, and so many at a time are refused', async () => {
    const opened = await openNotes();
    for (let i = 0; i < 8; i++) await opened.tools.export('ndjson');
    await expect(opened.tools.export('ndjson')).rejects.toMatchObject({
      code: 'unavailable',
      reason: 'too_many_copies',
    });
    ahead.ms += HOUR_MS + 1;
    await bytesOf(opened.tools);
    expect(await kept(opened.key)).toBe(0);
  });

  test('that would be too large is neither made nor taken, and leaves nothing', async () => {
    const opened = await openNotes();
    await grow(opened, 1);
    const bytes = await bytesOf(opened.tools);
    await grow(opened, NOTES_COPY_BYTES_MAX / MEBIBYTE);
    await expect(opened.tools.export('ndjson')).rejects.toMatchObject({
      code: 'unsupported',
      reason: 'copy_too_large',
    });
    await expect(opened.tools.snapshot({ id: 'snp_1' })).rejects.toMatchObject({ reason: 'copy_too_large' });
    const padded = new Uint8Array(NOTES_COPY_BYTES_MAX + 1).fill(0x20);
    padded.set(bytes);
    await expect(opened.tools.restore('ndjson', bodyOf(padded))).rejects.toMatchObject({
      code: 'payload_too_large',
      reason: 'copy_too_large',
    });
    expect(await kept(opened.key)).toBe(0);
    await opened.notes.add({ text: 'goes on' });
    // Nothing of it holds the tables that another copy takes the place of.
    await opened.tools.restore('ndjson', bodyOf(bytes));
    expect(await opened.notes.list()).toHaveLength(3);
    expect(observed.incidents).toEqual([]);
  });

  test('whose first line was changed is damaged, though all rows are right', async () => {
    const { tools, key } = await openNotes();
    const text = new TextDecoder().decode(await bytesOf(tools)).replace(key, 'another');
    await expect(tools.restore('ndjson', bodyOf(new TextEncoder().encode(text)))).rejects.toMatchObject({
      reason: 'copy_damaged',
    });
  });

  test('whose rows refer to rows that are missing is damaged, and the object lives on', async () => {
    const engine = openEngine();
    const unit = engine.unit(toolsUnit, 'referring', { create: true });
    await unit.run({ sql: 'INSERT INTO item (id) VALUES (1)' });
    await unit.run({ sql: 'INSERT INTO child (item) VALUES (1)' });
    const tools = engine.tools(toolsUnit, 'referring');
    const before = await unit.contents();
    const lines = new TextDecoder()
      .decode(await bytesOf(tools))
      .split('\n')
      .slice(0, -2);
    const header = JSON.parse(lines[0] as string) as { tables: { name: string; sha256: string }[] };
    const child = header.tables.findIndex(({ name }) => name === 'child');
    const row = JSON.stringify({ t: child, r: [1, 7] });
    const changed = lines.map((line) => (line === JSON.stringify({ t: child, r: [1, 1] }) ? row : line));
    (header.tables[child] as { sha256: string }).sha256 = sha256(`${row}\n`);
    const body = [JSON.stringify(header), ...changed.slice(1)].map((line) => `${line}\n`).join('');
    const text = `${body}${JSON.stringify({ end: true, sha256: sha256(body) })}\n`;
    await expect(tools.restore('ndjson', bodyOf(new TextEncoder().encode(text)))).rejects.toMatchObject({
      reason: 'copy_damaged',
      message: expect.stringContaining('missing'),
    });
    expect(await unit.contents()).toEqual(before);
    await unit.run({ sql: 'INSERT INTO item (id) VALUES (2)' });
  });

  test('of a unit with a virtual table is not made', async () => {
    const opened = await openNotes();
    await runInDurableObject(env.NOTES.getByName(opened.key), (_, { storage }) =>
      storage.sql.exec('CREATE VIRTUAL TABLE words USING fts5 (word)'),
    );
    await expect(opened.tools.export('ndjson')).rejects.toMatchObject({ reason: 'engine_cannot' });
    await opened.notes.add({ text: 'goes on' });
  });
});

describe('a judge from afar', () => {
  /** A judge of every kind of step, which decides by what it reads. */
  const judge: Admit = (staged) => {
    staged.run('UPDATE note SET text = ? WHERE position = 1', 'seen');
    const seen = staged.get<{ text: string }>('SELECT text FROM note WHERE position = 1');
    for (const text of ['kept', 'undone', 'nested'])
      attempt(staged, () => {
        staged.savepoint(() => staged.run('INSERT INTO note (text) VALUES (?)', `${seen?.text} ${text}`));
        const { n } = staged.all<{ n: number }>('SELECT count(*) AS n FROM note')[0] ?? { n: 0 };
        staged.run('INSERT INTO note (text) VALUES (?)', `${n} there`);
        if (text === 'undone') throw new Error('undo');
      });
    staged.exec(`CREATE TABLE judged (n INTEGER); INSERT INTO judged VALUES (7)`);
    const judged = staged.all<{ n: number }>('SELECT n FROM judged');
    staged.run('INSERT INTO note (text) VALUES (?)', JSON.stringify(judged));
  };
  function attempt(staged: SqlDatabase, work: () => void): void {
    try {
      staged.savepoint(work);
    } catch {
      // What was undone is seen in what is there afterwards.
    }
  }

  test('comes to the same as one that sits in the object', async () => {
    const [there, afar] = [await openNotes(), await openNotes()];
    await runInDurableObject(env.NOTES.getByName(there.key), (_, { storage }) =>
      judge(durableDatabase(storage, null)),
    );
    await afar.tools.restore('ndjson', bodyOf(await bytesOf(afar.tools)), judge);
    expect(await afar.notes.list()).toEqual(await there.notes.list());
    expect(await afar.notes.list()).toContain('seen kept');
    expect(await afar.notes.list()).not.toContain('seen undone');
  });

  test('that refuses by what it reads changes nothing, and its words arrive', async () => {
    const opened = await openNotes();
    const bytes = await bytesOf(opened.tools);
    await opened.notes.add({ text: 'later' });
    await expect(
      opened.tools.restore('ndjson', bodyOf(bytes), (staged) => {
        staged.run('DELETE FROM note');
        const { n } = staged.get<{ n: number }>('SELECT count(*) AS n FROM note') ?? { n: -1 };
        throw new Error(`there are ${n}`);
      }),
    ).rejects.toThrow('there are 0');
    expect(await opened.notes.list()).toEqual(['first', 'later']);
    expect(await kept(opened.key)).toBe(0);
  });

  test('that goes on without an answer is asked again, and one that never stops asking is stopped', async () => {
    const opened = await openNotes();
    const bytes = await bytesOf(opened.tools);
    await opened.tools.restore('ndjson', bodyOf(bytes), (staged) => {
      let text = 'no answer';
      try {
        text = staged.get<{ text: string }>('SELECT text FROM note')?.text ?? 'nothing';
      } catch {
        // As if it did not matter.
      }
      staged.run('INSERT INTO note (text) VALUES (?)', `saw ${text}`);
    });
    expect(await opened.notes.list()).toEqual(['first', 'saw first']);
    await expect(
      opened.tools.restore('ndjson', bodyOf(bytes), (staged) => {
        for (;;) staged.get('SELECT 1');
      }),
    ).rejects.toMatchObject({ reason: 'admission_too_long' });
  });

  test('whose statement fails has the copy refused', async () => {
    const opened = await openNotes();
    const bytes = await bytesOf(opened.tools);
    await expect(
      opened.tools.restore('ndjson', bodyOf(bytes), (staged) => staged.run('INSERT INTO nowhere VALUES (1)')),
    ).rejects.toMatchObject({ code: 'internal' });
    expect(await opened.notes.list()).toEqual(['first']);
  });
});

test('a unit whose migrations fail is copied all the same, so that it can be saved', async () => {
  const opened = await openNotes();
  const bytes = await bytesOf(opened.tools);
  await runInDurableObject(env.NOTES.getByName(opened.key), (_, { storage }) =>
    migrate(
      durableDatabase(storage, null),
      {
        name: 'notes',
        migrations: [
          ...(notesUnit.migrations[0]?.migrations ?? []),
          { version: 9, name: 'newer', sql: 'SELECT 1' },
        ],
      },
      { nowMs: 0 },
    ),
  );
  await abortAllDurableObjects();
  await opened.notes.list().catch(() => undefined);
  await expect(opened.notes.list()).rejects.toMatchObject({ reason: 'migration_unknown' });
  const tools = openEngine().tools(notesUnit, opened.key);
  expect((await bytesOf(tools)).length).toBeGreaterThan(100);
  await tools.restore('ndjson', bodyOf(bytes));
  expect(await opened.notes.list()).toEqual(['first']);
});

describe('a question', () => {
  const ask = (tools: UnitTools, sql: string) =>
    tools.inspect({ sql, params: [], rowsMax: 10, bytesMax: 10_000, timeMs: 1_000 });

  test.each([
    'SELECT count(*) FROM note a, note b, note c, note d',
    'SELECT count(*) FROM note a JOIN note b ON b.position > a.position JOIN note c ON c.position > b.position',
    'SELECT (SELECT count(*) FROM note b, note c WHERE b.text <> a.text) FROM note a',
    'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c LIMIT 1',
    'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) SELECT count(*) FROM c a, c b',
    'SELECT count(*) FROM endless',
  ])('that might not end is not begun: %s', async (sql) => {
    const opened = await openNotes();
    await runInDurableObject(env.NOTES.getByName(opened.key), (_, { storage }) => {
      storage.sql.exec(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 999) INSERT INTO note (text) SELECT i FROM n`,
      );
      storage.sql.exec(
        'CREATE VIEW endless AS WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c',
      );
    });
    await expect(ask(opened.tools, sql)).rejects.toMatchObject({
      code: 'validation_failed',
      reason: 'statement_refused',
    });
    expect(await opened.notes.count()).toMatchObject({ stored: 1_000 });
  });

  test.each([
    'SELECT count(*) FROM note a JOIN note b ON b.position = a.position JOIN note c ON c.text = b.text',
    'SELECT text FROM note WHERE position IN (SELECT position FROM note) ORDER BY text',
    'SELECT text, (SELECT max(b.position) FROM note b WHERE b.text = a.text) FROM note a',
    'SELECT value FROM note, json_each(json_array(1, 2)) UNION SELECT text FROM note',
    'SELECT text, row_number() OVER (ORDER BY text) FROM note;',
    'EXPLAIN QUERY PLAN SELECT * FROM note',
    'VALUES (1), (2)',
    'SELECT 1 -- the end',
  ])('that ends is answered: %s', async (sql) => {
    const { tools } = await openNotes();
    expect((await ask(tools, sql)).rows.length).toBeGreaterThan(0);
  });

  test('that takes too long for its clock is told so', async () => {
    const { tools } = await openNotes();
    const asked = tools.inspect({
      sql: 'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1000000) SELECT max(x) FROM c',
      params: [],
      rowsMax: 10,
      bytesMax: 10_000,
      timeMs: -1,
    });
    await expect(asked).rejects.toMatchObject({ reason: 'time_limit' });
  });
});
