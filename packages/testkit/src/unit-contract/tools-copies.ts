/** The contract of copies: an export restores exactly, and nothing else replaces a unit's state. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { CopyFormat } from '../../../store/src/tools.ts';
import type { OpenUnit, ToolsContractSetup } from './tools.ts';
import { bodyOf, bytesOf, linesOf, textBody } from './tools-bytes.ts';
import { otherToolsUnit, refuseAdmission, toolsUnit, toolsWorld } from './tools-units.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const damaged = { code: 'validation_failed', reason: 'copy_damaged' };
const foreign = { code: 'validation_failed', reason: 'copy_foreign' };
const change = { sql: "INSERT INTO _spine_events (note) VALUES ('later')" };

export function copyContract({ formats }: ToolsContractSetup, openUnit: OpenUnit): void {
  describe.each(formats)('a copy as %s', (format) => {
    test('brings every value back as it was', async () => {
      const { unit, tools, key } = await openUnit();
      const before = await unit.contents();
      const bytes = await bytesOf(await tools.export(format));
      await unit.run(change);
      await unit.run({ sql: "DELETE FROM pair WHERE x = 'a'" });
      await unit.run({ sql: 'CREATE TABLE more (x)' });
      const restored = await tools.restore(format, bodyOf(bytes));
      expect(await unit.contents()).toEqual(before);
      expect(restored.rows).toBeGreaterThanOrEqual(17);
      expect(restored.tables).toBe(7);
      expect(await unit.all({ sql: 'SELECT value FROM _spine_notes' })).toEqual([
        { value: `admitted to ${key}` },
      ]);
      await unit.run(change);
      expect(await unit.all({ sql: 'SELECT max(id) AS id FROM _spine_events' })).toEqual([{ id: 4 }]);
    });

    test('shows one moment, with what was asked before it and nothing of what comes after', async () => {
      const { unit, tools } = await openUnit();
      const asked = unit.run({ sql: "INSERT INTO loose VALUES ('before', 0)" });
      const copying = tools.export(format);
      await asked;
      const expected = await unit.contents();
      const copy = await copying;
      for (let i = 0; i < 20; i++)
        await unit.run({ sql: 'INSERT INTO loose VALUES (?, 1)', params: [`after ${i}`] });
      const bytes = await bytesOf(copy);
      expect(new Set(await unit.contents()).size).toBe(expected.length + 20);
      await tools.restore(format, bodyOf(bytes));
      const found = await unit.contents();
      expect(found.filter((line) => !line.includes('after'))).toEqual(expected);
    });

    test('can be cancelled, and the unit goes on', async () => {
      const { unit, tools } = await openUnit();
      const { body } = await tools.export(format);
      const reader = body.getReader();
      await reader.read();
      await reader.cancel();
      await (await tools.export(format)).body.cancel();
      await unit.run(change);
      expect((await bytesOf(await tools.export(format))).length).toBeGreaterThan(0);
    });

    test.each<readonly [how: string, spoil: (bytes: Uint8Array) => Uint8Array]>([
      ['is empty', () => new Uint8Array()],
      ['lacks its end', (bytes) => bytes.slice(0, -100)],
      ['was cut in the middle', (bytes) => bytes.slice(0, bytes.length / 2)],
      ['is something else', () => new TextEncoder().encode('this is no copy of anything\n'.repeat(300))],
    ])('that %s is refused, and changes nothing', async (_how, spoil) => {
      const { unit, tools } = await openUnit();
      const bytes = await bytesOf(await tools.export(format));
      await unit.run(change);
      const before = await unit.contents();
      await expect(tools.restore(format, bodyOf(spoil(bytes)))).rejects.toMatchObject(damaged);
      expect(await unit.contents()).toEqual(before);
    });

    test('whose stream breaks off changes nothing', async () => {
      const { unit, tools } = await openUnit();
      const before = await unit.contents();
      const broken = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{')),
        pull: (controller) => controller.error(new Error('the network is gone')),
      });
      await expect(tools.restore(format, broken)).rejects.toThrow();
      expect(await unit.contents()).toEqual(before);
    });

    test('of another unit of the kind is for `admit` to judge', async () => {
      const { unit, tools, engine } = await openUnit();
      const empty = engine.unit(toolsUnit, 'another', { create: true });
      await empty.run(change);
      const bytes = await bytesOf(await tools.export(format));
      await engine.tools(toolsUnit, 'another').restore(format, bodyOf(bytes));
      expect(await empty.contents()).toEqual(await unit.contents());
    });

    test('that is not admitted changes nothing, by either judge', async () => {
      const { unit, tools } = await openUnit();
      const bytes = await bytesOf(await tools.export(format));
      await unit.run(change);
      const before = await unit.contents();
      const refusal = { code: 'forbidden', reason: 'not_wanted' };
      await expect(tools.restore(format, bodyOf(bytes), refuseAdmission)).rejects.toMatchObject(refusal);
      toolsWorld.admit = refuseAdmission;
      await expect(tools.restore(format, bodyOf(bytes))).rejects.toMatchObject(refusal);
      expect(await unit.contents()).toEqual(before);
    });

    test('is changed by those who admit it, the definition first', async () => {
      const { unit, tools } = await openUnit();
      const bytes = await bytesOf(await tools.export(format));
      toolsWorld.admit = (staged) => staged.run("INSERT INTO loose VALUES ('definition', 1)");
      await tools.restore(format, bodyOf(bytes), (staged) =>
        staged.run("UPDATE loose SET a = 'both' WHERE a = 'definition'"),
      );
      expect(await unit.all({ sql: "SELECT a FROM loose WHERE a IN ('both', 'definition')" })).toEqual([
        { a: 'both' },
      ]);
    });

    test('of an older version is migrated; of a newer one it is refused', async () => {
      const { unit, tools, engine, reopen } = await openUnit();
      const newer = await bytesOf(await tools.export(format));
      toolsWorld.migrations = 1;
      const old = engine.unit(toolsUnit, 'old', { create: true });
      await old.run(change);
      const older = await bytesOf(await engine.tools(toolsUnit, 'old').export(format));
      const before = await old.contents();
      await expect(engine.tools(toolsUnit, 'old').restore(format, bodyOf(newer))).rejects.toMatchObject(
        foreign,
      );
      expect(await old.contents()).toEqual(before);
      toolsWorld.migrations = 2;
      await tools.restore(format, bodyOf(older));
      const names = await unit.all({
        sql: "SELECT name FROM sqlite_master WHERE name = '_spine_events_note'",
      });
      expect(names).toHaveLength(1);
      await reopen();
    });

    test('of another kind is refused', async () => {
      const { unit, tools, engine } = await openUnit();
      const before = await unit.contents();
      await engine.unit(otherToolsUnit, 'other', { create: true }).run(change);
      const copy = await engine.tools(otherToolsUnit, 'other').export(format);
      // A database file does not name its kind. With the same tables, `admit` must judge.
      if (format === 'sqlite') await copy.body.cancel();
      else await expect(tools.restore(format, copy.body)).rejects.toMatchObject(foreign);
      expect(await unit.contents()).toEqual(before);
    });

    test('for a unit that was never created is refused', async () => {
      const { tools, engine } = await openUnit();
      const bytes = await bytesOf(await tools.export(format));
      const absent = engine.tools(toolsUnit, 'absent');
      const unknown = { code: 'not_found', reason: 'unknown_unit' };
      await expect(absent.restore(format, bodyOf(bytes))).rejects.toMatchObject(unknown);
      await expect(absent.export(format)).rejects.toMatchObject(unknown);
      await expect(engine.unit(toolsUnit, 'absent').contents()).rejects.toMatchObject(unknown);
    });

    test('is there after everything in memory is gone', async () => {
      const { unit, tools, key, reopen } = await openUnit();
      const before = await unit.contents();
      const bytes = await bytesOf(await tools.export(format));
      await unit.run(change);
      await tools.restore(format, bodyOf(bytes));
      expect(await (await reopen()).unit(toolsUnit, key).contents()).toEqual(before);
    });
  });

  ndjsonContract(openUnit);
  snapshotContract(formats, openUnit);
}

function ndjsonContract(openUnit: OpenUnit): void {
  describe('a copy as ndjson', () => {
    test('has the form that every engine reads', async () => {
      const { tools, key } = await openUnit();
      const copy = await tools.export('ndjson');
      const text = new TextDecoder().decode(await bytesOf(copy));
      const lines = text.split('\n');
      const header = JSON.parse(lines[0] ?? '');
      expect(header).toMatchObject({ freehold: 1, kind: toolsUnit.kind, key });
      expect(header.schema.every((sql: string) => /^CREATE (TABLE|INDEX|VIEW|TRIGGER) /.test(sql))).toBe(
        true,
      );
      const tables = header.tables as { name: string; columns: string[]; rows: number; sha256: string }[];
      expect(tables.map(({ name }) => name)).toEqual([
        '_spine_events',
        '_spine_migrations',
        '_spine_notes',
        'child',
        'item',
        'loose',
        'pair',
        'sqlite_sequence',
      ]);
      expect(tables.find(({ name }) => name === 'loose')?.columns).toEqual(['rowid', 'a', 'b "quoted"']);
      expect(tables.find(({ name }) => name === 'child')?.columns).toEqual(['rowid', 'item']);
      expect(tables.find(({ name }) => name === 'item')?.columns).toEqual([
        'id',
        'name',
        'price',
        'data',
        'tax',
      ]);
      for (const [t, { rows, sha256: digest }] of tables.entries()) {
        const own = lines.slice(1, -2).filter((line) => JSON.parse(line).t === t);
        expect(own).toHaveLength(rows);
        expect(sha256(own.map((line) => `${line}\n`).join(''))).toBe(digest);
      }
      const item = tables.findIndex(({ name }) => name === 'item');
      expect(lines).toContain(JSON.stringify({ t: item, r: [-7, null, 0.1, { $bytes: 'AAAA' }, 1e300] }));
      expect(lines).toContain(
        JSON.stringify({
          t: item,
          r: [{ $integer: '9007199254740993' }, '', 0, { $bytes: '' }, 2.5],
        }),
      );
      expect(lines).toContain(
        JSON.stringify({
          t: item,
          r: [
            { $integer: '9223372036854775807' },
            'largest',
            { $real: 'Infinity' },
            null,
            { $real: '-Infinity' },
          ],
        }),
      );
      expect(lines).toContain(
        JSON.stringify({ t: tables.findIndex(({ name }) => name === 'loose'), r: [40, 1, { $real: '1' }] }),
      );
      expect(JSON.parse(lines.at(-2) ?? '')).toEqual({
        end: true,
        sha256: sha256(`${lines.slice(0, -2).join('\n')}\n`),
      });
      expect(lines.at(-1)).toBe('');
    });

    test.each<readonly [how: string, spoil: (lines: Record<string, unknown>[]) => unknown[]]>([
      ['lacks a row', (lines) => lines.toSpliced(1, 1)],
      ['has a row twice', (lines) => lines.toSpliced(1, 0, lines[1] ?? {})],
      ['has another value', (lines) => lines.with(1, { t: 0, r: [1, 'uno'] })],
      ['has a value of no known form', (lines) => lines.with(1, { t: 0, r: [{ $secret: '1' }, 'one'] })],
      ['has a row of no table', (lines) => lines.with(1, { t: 99, r: [] })],
      ['has a row that is too short', (lines) => lines.with(1, { t: 0, r: [1] })],
      ['goes on after its end', (lines) => [...lines, lines[1]]],
      ['has no end', (lines) => lines.slice(0, -1)],
      ['is of a later form', (lines) => lines.with(0, { ...lines[0], freehold: 2 })],
      ['has a schema that is none', (lines) => lines.with(0, { ...lines[0], schema: ["ATTACH 'x' AS y"] })],
    ])('that %s is refused, also when its last digest is right', async (_how, spoil) => {
      const { unit, tools } = await openUnit();
      const lines = await linesOf(await tools.export('ndjson'));
      const before = await unit.contents();
      const spoilt = spoil(lines);
      const isLast = (line: unknown) => (line as { end?: boolean } | undefined)?.end === true;
      const body = spoilt.filter((line) => !isLast(line)).map((line) => `${JSON.stringify(line)}\n`);
      const end = spoilt.some(isLast)
        ? [`${JSON.stringify({ end: true, sha256: sha256(body.join('')) })}\n`]
        : [];
      const text = isLast(spoilt.at(-2))
        ? [...body.slice(0, -1), ...end, ...body.slice(-1)].join('')
        : [...body, ...end].join('');
      await expect(tools.restore('ndjson', textBody(text))).rejects.toMatchObject(damaged);
      expect(await unit.contents()).toEqual(before);
    });

    test.each<readonly [how: string, sql: string]>([
      [
        'a trigger on a table of the platform',
        'CREATE TRIGGER t AFTER INSERT ON _spine_events BEGIN DELETE FROM item; END',
      ],
      [
        'a trigger that writes to one',
        'CREATE TRIGGER t AFTER INSERT ON item BEGIN INSERT INTO _spine_notes VALUES (1); END',
      ],
      ['a table of the platform that it does not have', 'CREATE TABLE _spine_more (x)'],
      ['an index on one', 'CREATE INDEX mine ON _spine_events (id, note)'],
      ['a virtual table', 'CREATE VIRTUAL TABLE words USING fts5 (word)'],
    ])('with %s is refused', async (_how, sql) => {
      const { unit, tools } = await openUnit();
      const before = await unit.contents();
      const body = await withSchema(await linesOf(await tools.export('ndjson')), (schema) => [
        ...schema,
        sql,
      ]);
      await expect(tools.restore('ndjson', textBody(body))).rejects.toMatchObject({
        code: 'validation_failed',
      });
      expect(await unit.contents()).toEqual(before);
    });

    test('without one of the platform’s own triggers is refused', async () => {
      const { unit, tools } = await openUnit();
      const before = await unit.contents();
      const body = await withSchema(await linesOf(await tools.export('ndjson')), (schema) =>
        schema.filter((sql) => !sql.includes('_spine_kept')),
      );
      await expect(tools.restore('ndjson', textBody(body))).rejects.toMatchObject(foreign);
      expect(await unit.contents()).toEqual(before);
    });
  });
}

/** Returns the same rows under another schema, with a matching trailer. */
async function withSchema(
  lines: readonly Record<string, unknown>[],
  edit: (schema: string[]) => string[],
): Promise<string> {
  const [header, ...rows] = lines.slice(0, -1);
  const edited = { ...header, schema: edit((header as { schema: string[] }).schema) };
  const text = [edited, ...rows].map((line) => `${JSON.stringify(line)}\n`).join('');
  return `${text}${JSON.stringify({ end: true, sha256: sha256(text) })}\n`;
}

function snapshotContract(formats: readonly CopyFormat[], openUnit: OpenUnit): void {
  describe('a snapshot', () => {
    test('is a copy that stays, is listed, opened and put back', async () => {
      const { unit, tools, key, reopen } = await openUnit();
      const before = await unit.contents();
      const first = await tools.snapshot({ id: 'snp_1', name: 'before the change' });
      expect(first).toMatchObject({
        id: 'snp_1',
        name: 'before the change',
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
      await unit.run(change);
      const second = await tools.snapshot({ id: 'snp_2' });
      expect(second.name).toBeNull();
      const engine = await reopen();
      const again = engine.tools(toolsUnit, key);
      expect(await again.snapshots()).toEqual([second, first]);
      const copy = await again.openSnapshot('snp_1');
      expect(formats).toContain(copy.format);
      expect(copy.bookmark).toBe(first.bookmark);
      const bytes = await bytesOf(copy);
      expect(bytes.length).toBe(first.bytes);
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(first.digest);
      await again.restore(copy.format, bodyOf(bytes));
      expect(await engine.unit(toolsUnit, key).contents()).toEqual(before);
    });

    test('that is removed is unknown, as one that never was', async () => {
      const { tools } = await openUnit();
      const unknown = { code: 'not_found', reason: 'unknown_snapshot' };
      await tools.snapshot({ id: 'snp_1' });
      await tools.removeSnapshot('snp_1');
      expect(await tools.snapshots()).toEqual([]);
      for (const id of ['snp_1', 'never', '../tools', '']) {
        await expect(tools.openSnapshot(id)).rejects.toMatchObject(unknown);
        await expect(tools.removeSnapshot(id)).rejects.toMatchObject(unknown);
      }
    });

    test('does not take the place of another of its name', async () => {
      const { unit, tools } = await openUnit();
      const first = await tools.snapshot({ id: 'snp_1' });
      await unit.run(change);
      await expect(tools.snapshot({ id: 'snp_1' })).rejects.toMatchObject({
        code: 'conflict',
        reason: 'snapshot_exists',
      });
      expect(await tools.snapshots()).toEqual([first]);
    });

    test('of a unit that was never created is refused', async () => {
      const { engine } = await openUnit();
      const absent = engine.tools(toolsUnit, 'absent');
      const unknown = { code: 'not_found', reason: 'unknown_unit' };
      await expect(absent.snapshot({ id: 'snp_1' })).rejects.toMatchObject(unknown);
      await expect(absent.snapshots()).rejects.toMatchObject(unknown);
    });
  });
}
