/** The scheduler clears lapsed rows, on the real engine. */
import { expect, test } from 'vitest';
import { openPlatform } from '../../test/platform.ts';
import { LAPSING } from './clear.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const forever = new AbortController().signal;

/** A platform whose every table of that sort has a row of now, and what there is of them after. */
async function open() {
  const platform = await openPlatform();
  await platform.tenant('acme');
  const fill = (rows: readonly number[]) =>
    platform.tamper((database) => {
      const put = (sql: string) => database.prepare(sql);
      const member = put(
        "INSERT OR IGNORE INTO staff (id, email, name, role, created_at, updated_at, revision) VALUES ('m', 'm@x.example', 'M', 'admin', 1, 1, 1)",
      );
      member.run();
      database.exec('BEGIN');
      rows.forEach((at, i) => {
        const n = `${i}-${at}`;
        put('INSERT INTO idempotency_keys VALUES (?, ?, ?, ?, NULL, NULL, ?)').run('a', 'o', n, 'f', at);
        put("INSERT INTO staff_sessions (sid, member, expires_at) VALUES (?, 'm', ?)").run(n, at);
        put(
          "INSERT INTO staff_tokens (id, member, client, hash, last4, created_at, expires_at, revision) VALUES (?1, 'm', 'c', ?1, 'l', 1, ?2, 1)",
        ).run(n, at);
        put(
          "INSERT INTO program_grants (id, scope_id, person_id, principal, name, access, permissions, created_at, expires_at) VALUES (?, 's', 'm', 'm', 'n', 'all', '[]', 1, ?)",
        ).run(n, at);
        put("INSERT INTO program_assertions VALUES ('s', 'c', ?, ?)").run(n, at);
        put("INSERT INTO program_questions VALUES ('s', 'c', ?, 'c', NULL, ?)").run(n, at);
        put(
          "INSERT INTO staff_codes (hash, member, client, redirect_uri, challenge, expires_at) VALUES (?, 'm', 'c', 'r', 'c', ?)",
        ).run(n, at);
        put(
          "INSERT INTO staff_devices (hash, user_code_hash, client, state, interval_ms, expires_at) VALUES (?1, ?1, 'c', 'pending', 1, ?2)",
        ).run(n, at);
        put("INSERT INTO staff_misses (member, at) VALUES ('m', ?)").run(at);
        put("INSERT INTO connect_rounds VALUES (?1, ?1, 't', 's', 'v', 'p', 'c', 'r', 'u', ?2, NULL)").run(
          n,
          at,
        );
        put("INSERT INTO hostname_attempts VALUES ('t', ?, 1, ?)").run(n, at);
        put(
          "INSERT INTO operations VALUES (?1, 'n', 'done', ?1, NULL, NULL, NULL, NULL, 'staff', 'a', 'A', NULL, 'r', 1, '{}', 1, 1, 'x', 1, 0, NULL, NULL, 0, 1, 1, ?2)",
        ).run(n, at);
      });
      database.exec('COMMIT');
    });
  const left = async () => {
    const counts: Record<string, number> = {};
    await platform.tamper((database) => {
      for (const { table } of LAPSING)
        counts[table] = Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n);
    });
    return counts;
  };
  return { platform, fill, left };
}

const all = (count: number) => Object.fromEntries(LAPSING.map(({ table }) => [table, count]));

test('nothing goes before its time, and everything after it', async () => {
  const { platform, fill, left } = await open();
  await fill([platform.clock.ms + 1]);
  expect(await platform.admin.expiries.clear(forever)).toBe(0);
  expect(await left()).toEqual(all(1));
  platform.clock.ms += 1;
  await platform.admin.expiries.clear(forever);
  const plain = LAPSING.filter(({ keptMs }) => keptMs === 0).map(({ table }) => table);
  expect(await left()).toEqual({ ...all(1), ...Object.fromEntries(plain.map((table) => [table, 0])) });
  platform.clock.ms += DAY_MS;
  await platform.admin.expiries.clear(forever);
  expect(await left()).toEqual({ ...all(0), operations: 1 });
  platform.clock.ms += 90 * DAY_MS;
  expect(await platform.admin.expiries.clear(forever)).toBe(1);
  expect(await left()).toEqual(all(0));
});

test('what is more than one slice goes all the same, and a platform that stops is not kept waiting', async () => {
  const { platform, fill, left } = await open();
  await fill(Array.from({ length: 450 }, () => platform.clock.ms - 100 * DAY_MS));
  expect(await platform.admin.expiries.clear(AbortSignal.abort())).toBe(0);
  expect(await platform.admin.expiries.clear(forever)).toBe(450 * LAPSING.length);
  expect(await left()).toEqual(all(0));
});

test('work that has not ended is not cleared away', async () => {
  const { platform, fill, left } = await open();
  await fill([1]);
  await platform.tamper((database) => database.exec('UPDATE operations SET finished_at = NULL'));
  await platform.admin.expiries.clear(forever);
  expect(await left()).toMatchObject({ operations: 1 });
});
