/** The masked copy for a preview: what is replaced, what is left out, and what is refused of a copy that a bundle wrote. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maskCopy } from './mask-copy.ts';
import { isText, makeMask } from './masks.ts';

const KEY = new Uint8Array(32).fill(7);
const SEALED = `v1.${'a'.repeat(16)}.${'b'.repeat(40)}`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'freehold-mask-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

type Tables = Readonly<Record<string, { readonly columns: string[]; readonly rows: unknown[][] }>>;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function copyOf(tables: Tables): string {
  const described = Object.entries(tables).map(([name, { columns, rows }]) => ({
    name,
    columns,
    rows: rows.length,
  }));
  const lines = [
    JSON.stringify({
      freehold: 1,
      kind: 'scope-people',
      key: 'scp_1',
      schema: ['CREATE TABLE a (b)'],
      tables: described,
    }),
    ...Object.values(tables).flatMap(({ rows }, t) => rows.map((r) => JSON.stringify({ t, r }))),
  ].map((line) => `${line}\n`);
  return `${lines.join('')}${JSON.stringify({ end: true, sha256: sha256(lines.join('')) })}\n`;
}

async function masked(copy: string, personal: Readonly<Record<string, readonly string[]>> = {}) {
  const source = new Response(copy).body as ReadableStream<Uint8Array>;
  const { body, ...columns } = await maskCopy(source, {
    personal,
    mask: makeMask(KEY),
    rowsFile: join(folder, 'rows'),
  });
  const text = await new Response(body).text();
  const lines = text.trimEnd().split('\n');
  const [header, ...rows] = lines.slice(0, -1).map((line) => JSON.parse(line));
  const trailer = JSON.parse(lines.at(-1) ?? '');
  // As every reader of a copy does: the digests are those of what follows.
  expect(trailer).toEqual({
    end: true,
    sha256: sha256(
      lines
        .slice(0, -1)
        .map((line) => `${line}\n`)
        .join(''),
    ),
  });
  for (const [t, { rows: count, sha256: digest }] of header.tables.entries()) {
    const own = lines.slice(1, -1).filter((line) => JSON.parse(line).t === t);
    expect([own.length, sha256(own.map((line) => `${line}\n`).join(''))]).toEqual([count, digest]);
  }
  const of = (name: string): unknown[][] => {
    const index = header.tables.findIndex((table: { name: string }) => table.name === name);
    return rows.filter(({ t }) => t === index).map(({ r }) => r);
  };
  return { ...columns, header, of };
}

describe('a column with personal data', () => {
  const columns = ['id', 'name', 'born', 'tags', 'salary', 'secret', 'photo'];
  const row = (name: string | null, salary: number) => [
    ...['per_1', name, '1970-02-03T04:05:06.000Z', '{"street":"Main 1","floor":2}', salary, SEALED],
    { $bytes: 'AAEC' },
  ];
  const personal = { people: columns.slice(1) };

  test('keeps the form of each value, and none of it', async () => {
    const { of, masked: named } = await masked(
      copyOf({ people: { columns, rows: [row('Berta', 4_200), row(null, 17)] } }),
      personal,
    );
    const [first, second] = of('people');
    expect(first).toEqual([
      ...['per_1', expect.stringMatching(/^masked-[0-9a-f]{12}$/), '2000-01-01T00:00:00Z'],
      expect.stringMatching(/^\{"street":"masked-[0-9a-f]{12}","floor":\d\}$/),
      ...[expect.any(Number), SEALED, { $bytes: expect.stringMatching(/^[\w+/]{43}=$/) }],
    ]);
    expect(String(first?.[4])).toMatch(/^[1-9]\d{3}$/);
    expect(second?.[1]).toBeNull();
    expect(named).toEqual(columns.slice(1).map((column) => `people.${column}`));
  });

  test('stays equal where it was, and different where it was', async () => {
    const mask = makeMask(KEY);
    expect(mask('berta@example.com')).toBe(mask('berta@example.com'));
    const many = new Set(Array.from({ length: 2_000 }, (_, n) => mask(`person ${n}`)));
    expect(many.size).toBe(2_000);
    expect(makeMask(new Uint8Array(32).fill(8))('Berta')).not.toBe(mask('Berta'));
  });
});

test('text that is neither sealed nor declared is named; ids, times and numbers are not', async () => {
  const { unmasked, of } = await masked(
    copyOf({
      orders: {
        columns: ['id', 'title', 'at', 'cents', 'sealed', 'empty'],
        rows: [[`ord_${'0'.repeat(26)}`, 'Boiler', '2026-01-02T03:04:05.000Z', 5, SEALED, '']],
      },
    }),
  );
  expect(unmasked).toEqual(['orders.title']);
  expect(of('orders')[0]?.[1]).toBe('Boiler');
  expect(['Berta', '+49 30 1', 'for_rent'].map(isText)).toEqual([true, true, true]);
});

test('of the platform’s tables only those come along that an application runs on', async () => {
  const one = (columns: string[], ...row: unknown[]) => ({ columns, rows: [row] });
  const {
    of,
    unmasked,
    masked: named,
  } = await masked(
    copyOf({
      _spine_scope: one(['name'], 'The shop'),
      _spine_members: one(['principal', 'sub'], 'prn_1', 'berta'),
      _spine_idempotency: one(['result'], '{"name":"Berta"}'),
      _spine_subject_keys: one(['subject', 'key_id'], 'per_1', 'k'),
      _spine_platform_requests: one(['payload'], 'Berta'),
      _spine_deliveries: one(['event'], 'evt_1'),
      _spine_attachments: one(['id', 'filename'], 'att_1', 'Passport of Berta.pdf'),
      _spine_settings: {
        columns: ['kind', 'key'],
        rows: [
          ['setting', 'OIDC_CLIENT_SECRET'],
          ['entitlement', 'seats'],
        ],
      },
      _spine_of_tomorrow: one(['text'], 'unknown to this version'),
    }),
  );
  const left = ['members', 'idempotency', 'subject_keys', 'platform_requests', 'deliveries', 'of_tomorrow'];
  for (const name of left) expect(of(`_spine_${name}`), name).toEqual([]);
  expect(of('_spine_scope')).toEqual([['The shop']]);
  expect(of('_spine_settings')).toEqual([['entitlement', 'seats']]);
  expect(JSON.stringify(of('_spine_attachments'))).not.toContain('Berta');
  expect([named, unmasked]).toEqual([['_spine_attachments.filename'], []]);
});

describe('a copy that a bundle wrote wrongly', () => {
  const whole = copyOf({ a: { columns: ['b'], rows: [['x']] } });
  test.each([
    ['is cut off', whole.slice(0, -20)],
    ['goes on after its end', `${whole}{"t":0,"r":["y"]}\n`],
    ['has a row of no table', whole.replace('"t":0', '"t":9')],
    ['has a row with more values', whole.replace('["x"]', '["x","y"]')],
    ['is no JSON', whole.replace('{"t":0', '{t:0')],
    ['has no header', '{"end":true,"sha256":""}\n'],
    ['is empty', ''],
  ])('that %s is refused', async (_, copy) => {
    await expect(masked(copy)).rejects.toMatchObject({ code: 'validation_failed', reason: 'copy_damaged' });
  });
});

test('the masked rows are removed once they were read', async () => {
  await masked(copyOf({ a: { columns: ['b'], rows: [['x']] } }));
  expect(readdirSync(folder)).not.toContain('rows');
});
