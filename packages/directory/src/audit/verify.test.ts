/** Attacks on the file of the admin log: every change is found, and the first bad row is named. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { canonicalJson } from '@freehold/contracts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type { AdminLogEntry, AdminLogVerification, LogHead } from '../admin-operations.ts';
import { hashOfEntry } from './admin-log.ts';
import type { LogAnchor } from './anchor.ts';

const ROWS = 12;

const verify = (platform: Platform) => platform.value<AdminLogVerification>('admin-log.verify');

/** Fills the log: each row creates a role, or renames one once their limit is reached. */
async function write(platform: Platform, rows: number, name = 'Role'): Promise<void> {
  await Promise.all(
    Array.from({ length: rows }, (_, i) =>
      platform.call('roles.put', {
        params: { key: `role${i % 200}` },
        body: { name: `${name} ${i}`, permissions: ['order.read'] },
      }),
    ),
  );
}

async function openWithRows(rows = ROWS, anchor?: LogAnchor): Promise<Platform> {
  const platform = await openPlatform(anchor ? { anchor } : {});
  await write(platform, rows);
  return platform;
}

/** An attacker with the file can remove the triggers first. */
function unlocked(work: (database: DatabaseSync) => void): (database: DatabaseSync) => void {
  return (database) => {
    for (const trigger of ['admin_log_no_update', 'admin_log_no_delete', 'admin_log_gapless'])
      database.exec(`DROP TRIGGER ${trigger}`);
    work(database);
  };
}

function memoryAnchor(): LogAnchor & {
  head: LogHead | null;
  readonly published: LogHead[];
  broken: boolean;
} {
  const anchor = {
    head: null as LogHead | null,
    published: [] as LogHead[],
    broken: false,
    publish: async (head: LogHead) => {
      if (anchor.broken) throw new Error('the anchor is out of reach');
      anchor.head = head;
      anchor.published.push(head);
    },
    read: async () => anchor.head,
  };
  return anchor;
}

type Stored = string | number | null;

function setColumn(
  database: DatabaseSync,
  { column, value, sequence }: { column: string; value: Stored; sequence: number },
): void {
  const statement = database.prepare(`UPDATE admin_log SET ${column} = ? WHERE sequence = ?`);
  expect(statement.run(value, sequence).changes).toBe(1);
}

/** Writes a row with a fitting hash, as the platform would. */
function insertEntry(database: DatabaseSync, entry: Omit<AdminLogEntry, 'hash'>): void {
  const { actor, target, before, after } = entry;
  const values = [
    ...[entry.sequence, Date.parse(entry.at), actor.kind, actor.id, actor.name, entry.token],
    ...[entry.requestId, entry.action, target.tenant, target.scope, target.vertical, target.other],
    ...[before && canonicalJson(before), after && canonicalJson(after), entry.outcome, entry.intent],
    ...[entry.code, entry.previousHash, hashOfEntry(entry)],
  ];
  const sql = `INSERT INTO admin_log VALUES (${values.map(() => '?').join(', ')})`;
  database.prepare(sql).run(...values);
}

async function storedRow(platform: Platform, sequence: number): Promise<Record<string, Stored>> {
  let row: Record<string, unknown> | undefined;
  await platform.tamper((database) => {
    row = database.prepare('SELECT * FROM admin_log WHERE sequence = ?').get(sequence);
  });
  return row as Record<string, Stored>;
}

const NULLABLE = ['token', 'tenant', 'scope', 'vertical', 'other', 'before', 'after', 'intent', 'code'];

/** The smallest changes to every column: one more, one blank more, nothing where a value was, and the reverse. */
function flipsOf(row: Record<string, Stored>): { readonly column: string; readonly value: Stored }[] {
  return Object.entries(row).flatMap(([column, stored]) => {
    if (stored === null) return [{ column, value: column === 'intent' ? 1 : 'null' }];
    const flip: Stored =
      column === 'sequence'
        ? 100
        : typeof stored === 'number'
          ? stored + 1
          : // An added blank is nothing to a JSON parser, and a change all the same.
            `${stored} `;
    const erased = NULLABLE.includes(column) ? [{ column, value: null }] : [];
    return [{ column, value: flip }, ...erased];
  });
}

describe('spec C-30: an untouched log', () => {
  test('is unanchored without an anchor, also when it is empty or longer than one slice', async () => {
    const platform = await openPlatform();
    expect(await verify(platform)).toEqual({
      status: 'unanchored',
      rows: 0,
      epochs: 0,
      unsettled: 0,
      head: null,
      anchor: null,
      firstBad: null,
    });
    await write(platform, 1101);
    const { status, rows, head } = await verify(platform);
    expect({ status, rows, sequence: head?.sequence }).toEqual({
      status: 'unanchored',
      rows: 1101,
      sequence: 1101,
    });
  });

  test('can be verified from an export of the route, without this platform', async () => {
    const platform = await openWithRows(3);
    let previousHash = '0'.repeat(64);
    for (const { hash, ...row } of await platform.adminLog()) {
      expect(row.previousHash).toBe(previousHash);
      expect(hashOfEntry(row)).toBe(hash);
      previousHash = hash;
    }
  });

  test('every change returns the head of its row in the log', async () => {
    const platform = await openPlatform();
    const { head } = await platform.call('tenants.create', { body: { slug: 'acme', name: 'Acme' } });
    const [row] = await platform.adminLog();
    expect(head).toEqual({ sequence: 1, hash: row?.hash });
  });
});

describe('spec C-30: append-only', () => {
  test.each([
    'UPDATE admin_log SET actor = actor',
    'DELETE FROM admin_log WHERE sequence = 12',
    'REPLACE INTO admin_log SELECT * FROM admin_log WHERE sequence = 3',
    `INSERT INTO admin_log SELECT 14, at, actor_kind, actor, actor_name, token, request, action, tenant, scope, vertical,
       other, before, after, outcome, intent, code, previous_hash, hash FROM admin_log WHERE sequence = 12`,
    "INSERT INTO access_log VALUES ('acc_1', 1, 'staff', 'a', 'A', NULL, 'r', 'o', NULL, NULL, NULL, NULL, 0); DELETE FROM access_log",
    "INSERT INTO access_log VALUES ('acc_1', 1, 'staff', 'a', 'A', NULL, 'r', 'o', NULL, NULL, NULL, NULL, 0); UPDATE access_log SET items = 1",
  ])('the database itself refuses: %s', async (sql) => {
    const platform = await openWithRows();
    await platform.tamper((database) => {
      expect(() => database.exec(sql)).toThrow(/append-only|no gaps/);
    });
    expect(await verify(platform)).toMatchObject({ status: 'unanchored', rows: ROWS });
  });
});

describe('spec C-30: a log that was changed in the file', () => {
  const copy = (from: number, to: number) =>
    `INSERT INTO admin_log SELECT ${to}, at, actor_kind, actor, actor_name, token, request, action, tenant, scope,
       vertical, other, before, after, outcome, intent, code, previous_hash, hash FROM admin_log WHERE sequence = ${from}`;

  test.each<[string, string, AdminLogVerification['firstBad']]>([
    ['a deleted row', 'DELETE FROM admin_log WHERE sequence = 5', { sequence: 5, reason: 'missing' }],
    ['a deleted first row', 'DELETE FROM admin_log WHERE sequence = 1', { sequence: 1, reason: 'missing' }],
    [
      'a deleted row with the rest moved up',
      'DELETE FROM admin_log WHERE sequence = 5; UPDATE admin_log SET sequence = sequence - 1 WHERE sequence > 5',
      { sequence: 5, reason: 'hash_mismatch' },
    ],
    [
      'two rows in the other order',
      `UPDATE admin_log SET sequence = 100 WHERE sequence = 5; UPDATE admin_log SET sequence = 5 WHERE sequence = 6;
       UPDATE admin_log SET sequence = 6 WHERE sequence = 100`,
      { sequence: 5, reason: 'hash_mismatch' },
    ],
    [
      'an inserted row',
      `UPDATE admin_log SET sequence = -sequence WHERE sequence > 5; UPDATE admin_log SET sequence = 1 - sequence WHERE sequence < 0; ${copy(5, 6)}`,
      { sequence: 6, reason: 'hash_mismatch' },
    ],
    ['a copy of a row at the end', copy(5, 13), { sequence: 13, reason: 'hash_mismatch' }],
    [
      'a copy under the same sequence, in a table without a key',
      `CREATE TABLE loose AS SELECT * FROM admin_log; INSERT INTO loose SELECT * FROM loose WHERE sequence = 5;
       DROP TABLE admin_log; ALTER TABLE loose RENAME TO admin_log`,
      { sequence: 5, reason: 'duplicated' },
    ],
    [
      'a time that is none',
      'UPDATE admin_log SET at = 9e15 WHERE sequence = 7',
      { sequence: 7, reason: 'unreadable' },
    ],
    [
      'fields that are no JSON',
      "UPDATE admin_log SET after = '{' WHERE sequence = 7",
      { sequence: 7, reason: 'unreadable' },
    ],
  ])('%s', async (_, sql, firstBad) => {
    const platform = await openWithRows();
    await platform.tamper(unlocked((database) => database.exec(sql)));
    expect(await verify(platform)).toMatchObject({
      status: 'broken',
      // A copy is bad, its original is not.
      rows: (firstBad?.sequence ?? 0) - (firstBad?.reason === 'duplicated' ? 0 : 1),
      firstBad,
    });
  });

  test('a row that was changed and given a fitting hash no longer fits the row after it', async () => {
    const platform = await openWithRows();
    const { hash: _, ...row } = (await platform.adminLog())[4] as AdminLogEntry;
    const forged = hashOfEntry({ ...row, actor: { ...row.actor, name: 'Mallory' } });
    await platform.tamper(
      unlocked((database) =>
        database
          .prepare("UPDATE admin_log SET actor_name = 'Mallory', hash = ? WHERE sequence = 5")
          .run(forged),
      ),
    );
    expect(await verify(platform)).toMatchObject({
      status: 'broken',
      firstBad: { sequence: 6, reason: 'previous_hash_mismatch' },
    });
  });

  test('a duplicate hidden at the seam between two slices', async () => {
    const platform = await openWithRows(510);
    const sql = `CREATE TABLE loose AS SELECT * FROM admin_log; INSERT INTO loose SELECT * FROM loose WHERE sequence = 501;
      DROP TABLE admin_log; ALTER TABLE loose RENAME TO admin_log`;
    await platform.tamper((database) => database.exec(sql));
    expect(await verify(platform)).toMatchObject({ firstBad: { sequence: 501, reason: 'duplicated' } });
  });

  test('one change in any column of a row, full or empty', async () => {
    const platform = await openWithRows(3);
    // No operation fills every column of one row, so that this row is written as `appendAdminLog` writes it.
    const filled: Omit<AdminLogEntry, 'hash'> = {
      sequence: 4,
      at: '2026-11-21T08:00:00.000Z',
      actor: { kind: 'staff', id: 'ada', name: 'Ada' },
      token: 'tok_01jd0000000000000000000001',
      requestId: 'req-4',
      action: 'connections.rotate',
      target: { tenant: 'tnt_1', scope: 'scp_1', vertical: 'fieldwork', other: 'con_1' },
      before: { fingerprint: 'old' },
      after: { fingerprint: 'new', keys: [1, null] },
      outcome: 'failed',
      intent: 3,
      code: 'conflict',
      previousHash: (await platform.adminLog())[2]?.hash as string,
    };
    await platform.tamper((database) => insertEntry(database, filled));
    await write(platform, 2, 'Another');
    const rows = await platform.adminLog();
    expect(rows[3]).toEqual({ ...filled, hash: hashOfEntry(filled) });
    const whole: AdminLogVerification = {
      status: 'unanchored',
      rows: 6,
      epochs: 0,
      unsettled: 0,
      head: { sequence: 6, hash: rows[5]?.hash as string },
      anchor: null,
      firstBad: null,
    };
    expect(await verify(platform)).toEqual(whole);

    let undo: (database: DatabaseSync) => void = (database) =>
      database.exec('DROP TRIGGER admin_log_no_update');
    for (const sequence of [2, 4]) {
      const stored = await storedRow(platform, sequence);
      expect(Object.keys(stored)).toHaveLength(19);
      const empty = Object.keys(stored).filter((column) => stored[column] === null);
      if (sequence === 4) expect(empty).toEqual([]);
      else expect(empty).toEqual(expect.arrayContaining(['tenant', 'scope', 'before', 'intent', 'code']));
      for (const { column, value } of flipsOf(stored)) {
        await platform.tamper((database) => {
          undo(database);
          setColumn(database, { column, value, sequence });
        });
        const now = column === 'sequence' ? Number(value) : sequence;
        undo = (database) => setColumn(database, { column, value: stored[column] ?? null, sequence: now });
        const isMoved = column === 'sequence';
        const reason = isMoved ? 'missing' : 'hash_mismatch';
        const head = isMoved ? { sequence: now, hash: stored.hash } : whole.head;
        expect({ column, value, ...(await verify(platform)) }).toEqual({
          ...whole,
          ...{ column, value, status: 'broken', rows: sequence - 1, head, firstBad: { sequence, reason } },
        });
      }
    }
    await platform.tamper(undo);
    expect(await verify(platform)).toEqual(whole);
    // The file is opened anew for each of fifty changes.
  }, 30_000);
});

describe('spec C-30: with an anchor outside', () => {
  /** Rewrites the whole chain so that every hash fits again, after doing `work` to the entries. */
  const reforge = (database: DatabaseSync, entries: AdminLogEntry[]) => {
    let previousHash = '0'.repeat(64);
    for (const { hash: _, ...entry } of entries) {
      const hash = hashOfEntry({ ...entry, previousHash });
      database
        .prepare('UPDATE admin_log SET actor_name = ?, previous_hash = ?, hash = ? WHERE sequence = ?')
        .run(entry.actor.name, previousHash, hash, entry.sequence);
      previousHash = hash;
    }
  };

  test('an untouched log is ok, up to the head that was acknowledged last', async () => {
    const anchor = memoryAnchor();
    const platform = await openWithRows(ROWS, anchor);
    const { head } = await platform.call('tenants.create', { body: { slug: 'acme', name: 'Acme' } });
    expect(anchor.head).toEqual(head);
    expect(await verify(platform)).toEqual({
      status: 'ok',
      rows: 13,
      epochs: 0,
      unsettled: 0,
      head,
      anchor: head,
      firstBad: null,
    });
  });

  test('a witness that does not vouch makes the log unanchored, and still shows what was cut off', async () => {
    const anchor = memoryAnchor();
    const platform = await openWithRows(ROWS, { ...anchor, vouches: false });
    expect(await verify(platform)).toMatchObject({ status: 'unanchored', anchor: { sequence: ROWS } });
    await platform.tamper(unlocked((database) => database.exec('DELETE FROM admin_log WHERE sequence > 9')));
    expect(await verify(platform)).toMatchObject({ status: 'broken', firstBad: { reason: 'tail_missing' } });
  });

  test('a cut tail is found', async () => {
    const anchor = memoryAnchor();
    const platform = await openWithRows(ROWS, anchor);
    await platform.tamper(unlocked((database) => database.exec('DELETE FROM admin_log WHERE sequence > 9')));
    expect(await verify(platform)).toMatchObject({
      status: 'broken',
      rows: 9,
      firstBad: { sequence: 10, reason: 'tail_missing' },
    });
  });

  test('a log that was deleted whole is found', async () => {
    const anchor = memoryAnchor();
    const platform = await openWithRows(ROWS, anchor);
    await platform.tamper(unlocked((database) => database.exec('DELETE FROM admin_log')));
    expect(await verify(platform)).toEqual({
      status: 'broken',
      rows: 0,
      epochs: 0,
      unsettled: 0,
      head: null,
      anchor: anchor.head,
      firstBad: { sequence: 1, reason: 'tail_missing' },
    });
  });

  test('an older copy of the file is found, and so is every row that is written to it later', async () => {
    const anchor = memoryAnchor();
    const platform = await openWithRows(ROWS, anchor);
    const older = join(mkdtempSync(join(tmpdir(), 'freehold-older-')), 'main.sqlite');
    onTestFinished(() => rmSync(dirname(older), { recursive: true }));
    await platform.tamper((database) => database.exec(`VACUUM INTO '${older}'`));
    await write(platform, 3, 'Another');
    const evidence = anchor.head;
    expect(evidence?.sequence).toBe(ROWS + 3);
    expect(await verify(platform)).toMatchObject({ status: 'ok', rows: ROWS + 3 });

    await platform.tamper((database) => {
      const file = database.location() as string;
      for (const rest of ['', '-wal', '-shm']) rmSync(`${file}${rest}`, { force: true });
      copyFileSync(older, file);
    });
    const verdict = async () => {
      const { status, rows, head, anchor: witnessed, firstBad } = await verify(platform);
      return { status, rows, head: head?.sequence, witnessed, firstBad };
    };
    // The file itself is consistent: only the anchor shows what it lacks.
    const lacks = (sequence: number) => ({
      ...{ status: 'broken', rows: sequence - 1, head: sequence - 1, witnessed: evidence },
      firstBad: { sequence, reason: 'tail_missing' },
    });
    expect(await verdict()).toEqual(lacks(13));
    await platform.tenant('acme');
    await platform.tenant('beta');
    expect(await verdict()).toEqual(lacks(15));
    // Now there is a row where the anchor has one, and it is another one.
    await platform.tenant('gamma');
    await platform.tenant('delta');
    expect(await verdict()).toEqual({
      ...{ status: 'broken', rows: 15, head: 16, witnessed: evidence },
      firstBad: { sequence: 15, reason: 'anchor_mismatch' },
    });
    // The engine has noticed by itself, and each change reports that the anchor holds another head.
    expect(platform.incidents).toMatchObject([
      { reason: 'history_damaged' },
      ...Array.from({ length: 4 }, () => ({ message: expect.stringContaining('row 15 as it was anchored') })),
    ]);
  });

  test('a chain that was forged anew from the start is found; without an anchor it could not be', async () => {
    const anchor = memoryAnchor();
    const platform = await openWithRows(ROWS, anchor);
    const entries = (await platform.adminLog()).map((entry) => ({
      ...entry,
      actor: { ...entry.actor, name: 'Mallory' },
    }));
    await platform.tamper(unlocked((database) => reforge(database, entries)));
    expect(await verify(platform)).toMatchObject({
      status: 'broken',
      firstBad: { sequence: 12, reason: 'anchor_mismatch' },
    });
    anchor.head = null;
    expect(await verify(platform)).toMatchObject({ status: 'unanchored' });
  });

  test('the head of a log that was cut does not overwrite the evidence, and an incident is reported', async () => {
    const anchor = memoryAnchor();
    const platform = await openWithRows(ROWS, anchor);
    const evidence = anchor.head;
    await platform.tamper(unlocked((database) => database.exec('DELETE FROM admin_log WHERE sequence > 9')));
    await write(platform, 1, 'Another');
    await platform.tenant('acme');
    await platform.tenant('beta');
    await platform.tenant('gamma');
    expect(anchor.head).toEqual(evidence);
    expect(platform.incidents).not.toEqual([]);
    expect(await verify(platform)).toMatchObject({
      status: 'broken',
      firstBad: { sequence: 12, reason: 'anchor_mismatch' },
    });
  });

  test('an anchor out of reach undoes no change, is reported, and catches up', async () => {
    const anchor = memoryAnchor();
    const platform = await openWithRows(2, anchor);
    anchor.broken = true;
    await platform.tenant('acme');
    expect(platform.incidents).toHaveLength(1);
    expect(await verify(platform)).toMatchObject({
      status: 'ok',
      head: { sequence: 3 },
      anchor: { sequence: 2 },
    });
    anchor.broken = false;
    platform.clock.ms += 30_000;
    await platform.tenant('beta');
    expect(anchor.head?.sequence).toBe(4);
  });

  test('an anchor that cannot be read leaves the question open', async () => {
    const anchor = memoryAnchor();
    const platform = await openWithRows(2, anchor);
    anchor.read = async () => {
      throw new Error('the anchor is out of reach');
    };
    expect(await refusal(verify(platform))).toMatchObject({ status: 503, reason: 'anchor_unreachable' });
  });

  test('changes that commit together share a publication, and none is acknowledged before its own', async () => {
    const anchor = memoryAnchor();
    const platform = await openPlatform({ anchor });
    await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const { head } = await platform.call('tenants.create', { body: { slug: `t${i}`, name: 'T' } });
        expect(anchor.head?.sequence).toBeGreaterThanOrEqual(head?.sequence ?? Number.POSITIVE_INFINITY);
      }),
    );
    expect(anchor.head?.sequence).toBe(50);
    expect(anchor.published.length).toBeLessThan(10);
    const sequences = anchor.published.map(({ sequence }) => sequence);
    expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
    expect(await verify(platform)).toEqual({
      status: 'ok',
      rows: 50,
      epochs: 0,
      unsettled: 0,
      head: anchor.head,
      anchor: anchor.head,
      firstBad: null,
    });
  });

  test('the intent of an effect is anchored before the effect happens', async () => {
    const anchor = memoryAnchor();
    const platform = await openPlatform({ anchor });
    const tenant = await platform.tenant('acme');
    let anchored: number | undefined;
    const { fetch } = platform.fieldwork.bound;
    platform.fieldwork.fault = async (request) => {
      anchored = anchor.head?.sequence;
      platform.fieldwork.fault = null;
      return fetch(request);
    };
    await platform.scope(tenant.id);
    expect(anchored).toBe(2);
  });
});

test('a row holds its fields in their canonical form', async () => {
  const platform = await openPlatform();
  await platform.tenant('acme');
  await platform.tamper((database) => {
    const { after } = database.prepare('SELECT after FROM admin_log').get() as { after: string };
    expect(after).toBe(canonicalJson(JSON.parse(after)));
  });
});
