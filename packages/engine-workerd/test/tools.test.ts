/** Promises of this engine's tools beyond their contract: bounds, and copies in transfer. */

import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { createHash } from 'node:crypto';
import { type Admit, migrate, type SqlDatabase, type UnitTools } from '@freehold/store';
import { notesUnit, observed, toolsUnits } from '@freehold/testkit/unit-contract';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { durableDatabase } from '../src/lib/durable-database.ts';
import { PARTS_TABLE } from '../src/tools/tables.ts';
import { makeUnitTools } from '../src/tools/unit-tools.ts';
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

/** Returns the number of copies and parts of copies that an object stores. */
const storedCounts = (key: string) =>
  runInDurableObject(env.NOTES.getByName(key), (_, { storage: { kv, sql } }) => {
    const { n } = sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${PARTS_TABLE}`).one();
    return n + [...kv.list()].length - 1;
  });

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
    expect(await storedCounts(opened.key)).toBe(0);
  });

  test('from before parts had a table of their own is opened, and removed', async () => {
    const opened = await openNotes();
    const bytes = await bytesOf(opened.tools);
    const snapshot = await opened.tools.snapshot({ id: 'snp_1' });
    await runInDurableObject(env.NOTES.getByName(opened.key), (_, { storage: { kv, sql } }) => {
      for (const { part, text } of sql.exec<{ part: number; text: string }>(`SELECT * FROM ${PARTS_TABLE}`))
        kv.put(`freehold/copy/${snapshot.id}/${part}`, new TextEncoder().encode(text));
      sql.exec(`DELETE FROM ${PARTS_TABLE}`);
    });
    const { body } = await opened.tools.openSnapshot(snapshot.id);
    expect(new Uint8Array(await new Response(body).arrayBuffer())).toEqual(bytes);
    await opened.tools.removeSnapshot(snapshot.id);
    expect(await storedCounts(opened.key)).toBe(0);
  });

  test('shows one moment: a call that comes meanwhile waits, and is not in it', async () => {
    const opened = await openNotes();
    // More than are read at once.
    for (let i = 0; i < 40; i++) await opened.notes.add({ text: 'x'.repeat(150_000) });
    const object = env.NOTES.getByName(opened.key);
    const text = await runInDurableObject(object, async (instance) => {
      const copied = instance.tool('copy', { id: 'one' });
      // It has begun by then, and pauses.
      await new Promise((resolve) => setTimeout(resolve, 0));
      const added = instance.call('add', { text: 'meanwhile' }, {});
      const { value } = (await copied) as unknown as { value: { parts: number } };
      expect(await added).toMatchObject({ ok: true });
      const parts: Uint8Array[] = [];
      for (let part = 0; part < value.parts; part++)
        parts.push(((await instance.tool('readPart', { id: 'one', part })) as { value: Uint8Array }).value);
      await instance.tool('drop', { id: 'one' });
      return Buffer.concat(parts).toString('utf8');
    });
    expect(text).not.toContain('meanwhile');
    expect(await opened.notes.list()).toHaveLength(42);
  });

  test('that is restored keeps the calls that come meanwhile waiting, and they are made afterwards', async () => {
    const opened = await openNotes();
    await grow(opened, 6);
    const bytes = await bytesOf(opened.tools);
    const object = env.NOTES.getByName(opened.key);
    await runInDurableObject(object, async (instance) => {
      for (let part = 0; part * MEBIBYTE < bytes.length; part++)
        await instance.tool('stage', {
          id: 'one',
          part,
          bytes: bytes.slice(part * MEBIBYTE, (part + 1) * MEBIBYTE),
        });
      await instance.tool('takeIn', { id: 'one' });
      const restored = instance.tool('restore', { id: 'one', judge: [] });
      await new Promise((resolve) => setTimeout(resolve, 0));
      const added = instance.call('add', { text: 'meanwhile' }, {});
      expect(await Promise.all([restored, added])).toMatchObject([{ ok: true }, { ok: true }]);
    });
    const notes = await opened.notes.list();
    expect([notes.length, JSON.stringify(notes).includes('meanwhile')]).toEqual([14, true]);
  });

  test('that is not loaded in the time that the runtime gives is refused, and changes nothing', async () => {
    const opened = await openNotes();
    const bytes = await bytesOf(opened.tools);
    await opened.notes.add({ text: 'later' });
    await runInDurableObject(env.NOTES.getByName(opened.key), async (instance) => {
      await instance.tool('stage', { id: 'one', part: 0, bytes });
      await instance.tool('takeIn', { id: 'one' });
      let nowMs = Date.now();
      const clock = vi.spyOn(Date, 'now').mockImplementation(() => (nowMs += 30_000));
      const restored = await instance.tool('restore', { id: 'one', judge: [] });
      clock.mockRestore();
      expect(restored).toMatchObject({
        ok: false,
        failure: { code: 'unavailable', reason: 'copy_too_slow' },
      });
      await instance.tool('drop', { id: 'one' });
    });
    expect([await opened.notes.list(), await storedCounts(opened.key)]).toEqual([['first', 'later'], 0]);
  });

  test('that is being sent is read to its end, whatever happens to the object', async () => {
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

  test('whose reader does not come back is gone after an hour, and so many at a time are refused', async () => {
    const opened = await openNotes();
    for (let i = 0; i < 8; i++) await opened.tools.export('ndjson');
    await expect(opened.tools.export('ndjson')).rejects.toMatchObject({
      code: 'unavailable',
      reason: 'too_many_copies',
    });
    ahead.ms += HOUR_MS + 1;
    await bytesOf(opened.tools);
    expect(await storedCounts(opened.key)).toBe(0);
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
    expect(await storedCounts(opened.key)).toBe(0);
    await opened.notes.add({ text: 'goes on' });
    // Nothing of it locks the tables that another copy replaces.
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
  /** A judge with every kind of step, which decides by its readings. */
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
      // The effect of the undone steps shows in the contents afterwards.
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

  test('comes to the same as one at hand, whose readings and checks load the copy twice', async () => {
    const [there, afar] = [await openNotes(), await openNotes()];
    const seen: unknown[] = [];
    const admission = {
      look: (staged: SqlDatabase) => [1, 2, 3].map((n) => staged.get('SELECT text, ? AS n FROM note', n)),
      prepare: async (found: unknown) => void seen.push(found),
      admit: judge,
    };
    const bytes = await bytesOf(there.tools);
    const asked: string[] = [];
    await runInDurableObject(env.NOTES.getByName(there.key), async (instance) => {
      const send = (tool: string, input: unknown) => {
        asked.push(tool);
        return instance.tool(tool, input);
      };
      const tools = makeUnitTools(send, { newId: () => 'one', isAtHand: true });
      await tools.restore('ndjson', bodyOf(bytes), admission);
    });
    expect(asked).toEqual(['requireCopies', 'stage', 'takeIn', 'judge', 'restore', 'drop']);
    await afar.tools.restore('ndjson', bodyOf(bytes), admission);
    expect(seen[0]).toEqual([1, 2, 3].map((n) => ({ text: 'first', n })));
    expect(seen[1]).toEqual(seen[0]);
    expect(await afar.notes.list()).toEqual(await there.notes.list());
  });

  test('that refuses by its readings changes nothing, and its message arrives', async () => {
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
    expect(await storedCounts(opened.key)).toBe(0);
  });

  test('that swallows the stop is asked again, and one that never stops reading is stopped', async () => {
    const opened = await openNotes();
    const bytes = await bytesOf(opened.tools);
    await opened.tools.restore('ndjson', bodyOf(bytes), (staged) => {
      let text = 'no answer';
      try {
        text = staged.get<{ text: string }>('SELECT text FROM note')?.text ?? 'nothing';
      } catch {
        // The judge swallows the error.
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

  /** A thousand notes, and three thousand rows of three kinds, each with a number and a list of its own. */
  const openFull = async () => {
    const opened = await openNotes();
    await runInDurableObject(env.NOTES.getByName(opened.key), (_, { storage: { sql } }) => {
      const numbers = (count: number) =>
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${count})`;
      sql.exec(`${numbers(999)} INSERT INTO note (text) SELECT i FROM n`);
      sql.exec('CREATE TABLE thing (kind TEXT, number INTEGER, list TEXT)');
      sql.exec(`${numbers(3_000)} INSERT INTO thing SELECT 'kind ' || i % 3, i, '[1, 2, 3]' FROM n`);
      sql.exec('CREATE INDEX thing_kind ON thing (kind)');
      sql.exec('CREATE INDEX thing_number ON thing (number)');
      sql.exec(
        'CREATE VIEW counted AS SELECT t.kind AS kind, count(*) AS things FROM thing AS t JOIN note AS o ON o.position = t.number GROUP BY t.kind',
      );
      sql.exec(
        'CREATE VIEW endless AS WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c',
      );
    });
    return opened;
  };
  /** An expression that makes eighty thousand numbers out of nothing. */
  const numbers = `'[' || replace(hex(zeroblob(20000)), '0', '0,') || '0]'`;

  test.each([
    'SELECT count(*) FROM note a, note b, note c, note d',
    'SELECT count(*) FROM note a JOIN note b ON b.position > a.position JOIN note c ON c.position > b.position',
    'SELECT (SELECT count(*) FROM note b, note c WHERE b.text <> a.text) FROM note a',
    'SELECT count(*) FROM note a LEFT JOIN note b ON 1 LEFT JOIN note c ON 1',
    'SELECT 1 FROM note a WHERE EXISTS (SELECT 1 FROM note b, note c WHERE b.text || c.text = a.text)',
    'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c LIMIT 1',
    'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) SELECT count(*) FROM c a, c b',
    'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT a.x + b.position FROM c a, note b, note d LIMIT 1000000) SELECT count(*) FROM c',
    'SELECT count(*) FROM endless',
    // Two conditions of which each finds nearly everything, in the place of one.
    `SELECT count(*) FROM note a, note b, note c WHERE (b.position > a.position OR b.position < a.position)
       AND (c.position > b.position OR c.position < b.position)`,
    // An index by which each search finds a third.
    'SELECT count(*) FROM thing a JOIN thing b ON b.kind = a.kind JOIN thing c ON c.kind = b.kind',
    'SELECT count(*) FROM thing a WHERE a.number < (SELECT count(*) FROM thing b JOIN thing c ON c.kind = b.kind WHERE b.kind = a.kind)',
    // An inner query that makes many more rows than any table has.
    'SELECT count(*) FROM (SELECT a.number AS n FROM thing a, thing b LIMIT -1 OFFSET 0) s, thing c WHERE c.number <> s.n',
    'WITH p AS MATERIALIZED (SELECT a.number AS n FROM thing a, thing b) SELECT count(*) FROM p AS x, thing c WHERE c.list <> x.n',
    // Tables that functions make.
    `SELECT count(*) FROM json_each(${numbers}) a, json_each(${numbers}) b WHERE a.value + b.value = 7`,
    `SELECT count(*) FROM json_each('[' || ? || ']') a, json_tree(a.value) b`,
    `WITH c AS (SELECT value AS v FROM json_each(${numbers})) SELECT count(*) FROM c x, c y`,
    `SELECT count(*) FROM thing, json_each(${numbers})`,
    'SELECT count(*) FROM thing, json_each(thing.list) a, json_each(thing.list) b',
    'SELECT count(*) FROM (SELECT list || list AS big FROM thing) t, json_each(t.big)',
    // Megabytes in every row.
    `SELECT max(length(replace(hex(zeroblob(500000 + a.position)), '0', 'ab'))) FROM note a, note b`,
    `SELECT max(length(${'x || '.repeat(12)}x)) FROM (SELECT ${'a.list || '.repeat(12)}a.list AS x FROM thing a, thing b)`,
  ])('that might not end is not begun: %s', async (sql) => {
    const { key, tools, notes } = await openFull();
    const params = sql.includes('?') ? ['1,2'] : [];
    await expect(
      tools.inspect({ sql, params, rowsMax: 10, bytesMax: 10_000, timeMs: 1_000 }),
      key,
    ).rejects.toMatchObject({ code: 'validation_failed', reason: 'statement_refused' });
    expect(await notes.count()).toMatchObject({ stored: 1_000 });
  });

  test.each([
    'SELECT count(*) FROM note a JOIN note b ON b.position = a.position JOIN note c ON c.text = b.text',
    'SELECT text FROM note WHERE position IN (SELECT position FROM note) ORDER BY text',
    'SELECT text, (SELECT max(b.position) FROM note b WHERE b.text = a.text) FROM note a',
    'SELECT count(*) FROM thing a JOIN thing b ON b.number = a.number JOIN thing c ON c.number = b.number',
    'SELECT a.kind, count(*) FROM thing a JOIN note n ON n.position = a.number GROUP BY a.kind',
    'SELECT count(*) FROM thing t, json_each(t.list)',
    `SELECT value FROM thing, json_each(list || '') WHERE number = 7`,
    'WITH t AS (SELECT kind AS k, count(*) AS n FROM thing GROUP BY kind) SELECT x.k, y.n FROM t x JOIN t y ON y.k = x.k',
    'SELECT max(number) FROM thing',
    'SELECT x.kind, y.things FROM counted x JOIN counted y ON y.kind = x.kind',
    'WITH t (a) AS (VALUES (1), (2)) SELECT sum(a) FROM t',
    'SELECT s.a, number FROM (SELECT 1 AS a UNION SELECT 2) s JOIN thing ON number = s.a',
    'SELECT count(*) FROM (VALUES (1), (2), (3)) a, (VALUES (1), (2)) b, thing',
    'SELECT sum((SELECT count(*) FROM note b WHERE b.position > a.position)) OVER () FROM note a',
    'SELECT text, row_number() OVER (ORDER BY text) FROM note;',
    'EXPLAIN QUERY PLAN SELECT * FROM note',
    'VALUES (1), (2)',
    'SELECT 1 -- the end',
  ])('that ends is answered: %s', async (sql) => {
    const { tools } = await openFull();
    expect((await ask(tools, sql)).rows.length).toBeGreaterThan(0);
  });

  test('that takes too long by its clock is refused', async () => {
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
