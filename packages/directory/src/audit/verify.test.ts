/** The admin log, attacked at the file: every change to it is found, and the first bad row is named. */
import type { DatabaseSync } from 'node:sqlite';
import { canonicalJson, PlatformError, problemDocument } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type { AdminLogEntry, AdminLogVerification, LogHead } from '../declarations/index.ts';
import { hashOfEntry } from './chain.ts';
import type { LogAnchor } from './host-admin-anchor.ts';

const ROWS = 12;

const verify = (platform: Platform) => platform.value<AdminLogVerification>('admin-log.verify');

/** Fills the log: each row creates a role, or renames one when there are as many as there may be. */
async function write(platform: Platform, rows: number): Promise<void> {
  for (let i = 0; i < rows; i++)
    await platform.call('roles.put', {
      params: { key: `role${i % 200}` },
      body: { name: `Role ${i}`, permissions: ['order.read'] },
    });
}

async function openWithRows(rows = ROWS, anchor?: LogAnchor): Promise<Platform> {
  const platform = await openPlatform(anchor ? { anchor } : {});
  await write(platform, rows);
  return platform;
}

/** What somebody with the file in hand can do: take the locks off first. */
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

describe('spec C-30: a log that nobody touched', () => {
  test('is unanchored without an anchor, also when it is empty or longer than one slice', async () => {
    const platform = await openPlatform();
    expect(await verify(platform)).toEqual({
      status: 'unanchored',
      rows: 0,
      epochs: 0,
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

  test('can be verified from what the route shows, without this platform', async () => {
    const platform = await openWithRows(3);
    let previousHash = '0'.repeat(64);
    for (const { hash, ...row } of await platform.adminLog()) {
      expect(row.previousHash).toBe(previousHash);
      expect(hashOfEntry(row)).toBe(hash);
      previousHash = hash;
    }
  });

  test('every change answers the head that its row has in the log', async () => {
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

describe('spec C-30: a log that somebody changed in the file', () => {
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

  test('one flipped byte, in any column of a row', async () => {
    const platform = await openWithRows(4);
    // A row with every column filled: the outcome of an effect that failed.
    const tenant = await platform.tenant('acme');
    platform.fieldwork.fault = async () => problemDocument(new PlatformError('conflict', 'No.'));
    await platform.scope(tenant.id).catch(() => undefined);
    const row = (await platform.adminLog()).at(-1) as AdminLogEntry;
    expect(row).toMatchObject({ outcome: 'failed', intent: row.sequence - 1 });
    const columns: string[] = [];
    await platform.tamper((database) => {
      for (const { name } of database.prepare('PRAGMA table_info(admin_log)').all())
        columns.push(String(name));
    });
    expect(columns).toHaveLength(19);
    for (const column of columns.filter((each) => each !== 'sequence')) {
      let original: unknown;
      await platform.tamper((database) => {
        for (const trigger of ['admin_log_no_update']) database.exec(`DROP TRIGGER IF EXISTS ${trigger}`);
        original = database
          .prepare(`SELECT ${column} AS value FROM admin_log WHERE sequence = 3`)
          .get()?.value;
        const flipped =
          original === null
            ? column === 'intent'
              ? 1
              : 'null'
            : typeof original === 'number'
              ? original + 1
              : // An added blank changes nothing that JSON would notice, and is a change all the same.
                `${original} `;
        database.prepare(`UPDATE admin_log SET ${column} = ? WHERE sequence = 3`).run(flipped);
      });
      const { status, firstBad } = await verify(platform);
      expect({ column, status, sequence: firstBad?.sequence }).toEqual({
        column,
        status: 'broken',
        sequence: 3,
      });
      await platform.tamper((database) => {
        database
          .prepare(`UPDATE admin_log SET ${column} = ? WHERE sequence = 3`)
          .run(original as string | number | null);
      });
      expect((await verify(platform)).status).toBe('unanchored');
    }
  });
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

  test('a log that nobody touched is ok, up to the head that was acknowledged last', async () => {
    const anchor = memoryAnchor();
    const platform = await openWithRows(ROWS, anchor);
    const { head } = await platform.call('tenants.create', { body: { slug: 'acme', name: 'Acme' } });
    expect(anchor.head).toEqual(head);
    expect(await verify(platform)).toEqual({
      status: 'ok',
      rows: 13,
      epochs: 0,
      head,
      anchor: head,
      firstBad: null,
    });
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
    const platform = await openWithRows(ROWS, memoryAnchor());
    await platform.tamper(unlocked((database) => database.exec('DELETE FROM admin_log')));
    expect(await verify(platform)).toMatchObject({ status: 'broken', firstBad: { sequence: 1 } });
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

  test('the head of a log that was cut does not overwrite the evidence, and somebody hears of it', async () => {
    const anchor = memoryAnchor();
    const platform = await openWithRows(ROWS, anchor);
    const evidence = anchor.head;
    await platform.tamper(unlocked((database) => database.exec('DELETE FROM admin_log WHERE sequence > 9')));
    await write(platform, 1);
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
