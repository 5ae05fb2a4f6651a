/** Staff who are inactive sign in again; a second factor is demanded of new installations, and kept apart from older ones. */
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { openPlatform } from '../../test/platform.ts';
import { sessionOf, signIn, staffMember } from '../../test/staff.ts';
import { staffMigrations } from './schema.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

async function withAda(options: { readonly staffIdleMs?: number } = { staffIdleMs: HOUR_MS }) {
  const platform = await openPlatform(options);
  await staffMember(platform, { login: 'ada', role: 'admin' });
  const isIn = async () => {
    const session = await platform.admin.staff.session(sessionOf('ada'));
    // Its last use is written behind the request: a change after it waits for that.
    await platform.admin.staff.signOut({ sid: 'sid-none' });
    return session !== null;
  };
  return { platform, isIn };
}

test('a member who was inactive for the set time signs in again, and one who works goes on', async () => {
  const { platform, isIn } = await withAda();
  for (let passed = 0; passed < 3 * HOUR_MS; passed += 50 * MINUTE_MS) {
    platform.clock.ms += 50 * MINUTE_MS;
    expect(await isIn()).toBe(true);
  }
  platform.clock.ms += HOUR_MS + MINUTE_MS;
  expect(await isIn()).toBe(false);
  // The session stays ended, also for a clock that is put back a little.
  platform.clock.ms += MINUTE_MS;
  expect(await isIn()).toBe(false);
  await signIn(platform, 'ada', { sid: 'sid-2' });
  expect(await platform.admin.staff.session({ ...sessionOf('ada'), sid: 'sid-2' })).not.toBeNull();
});

test('the last use is written at most once a minute', async () => {
  const { platform, isIn } = await withAda();
  const seen = () =>
    platform.look((db) => Number(db.prepare('SELECT last_seen_at AS seen FROM staff_sessions').get()?.seen));
  const first = seen();
  platform.clock.ms += MINUTE_MS - 1;
  await isIn();
  expect(seen()).toBe(first);
  platform.clock.ms += 1;
  await isIn();
  expect(seen()).toBe(first + MINUTE_MS);
});

test('no session ends early: a use that was not written, because the last one is of the same minute, counts', async () => {
  const { platform, isIn } = await withAda({ staffIdleMs: MINUTE_MS });
  platform.clock.ms += MINUTE_MS - 1;
  expect(await isIn()).toBe(true);
  platform.clock.ms += MINUTE_MS - 1;
  expect(await isIn()).toBe(true);
  platform.clock.ms += 2 * MINUTE_MS;
  expect(await isIn()).toBe(false);
});

test('a disk that takes no write keeps no member of staff from reading, and is told once for requests at once', async () => {
  const { platform, isIn } = await withAda();
  await platform.tamper((database) =>
    database.exec(`CREATE TRIGGER full BEFORE UPDATE OF last_seen_at ON staff_sessions
      BEGIN SELECT RAISE(FAIL, 'the disk is full'); END`),
  );
  platform.clock.ms += MINUTE_MS;
  expect(await Promise.all([isIn(), isIn(), isIn()])).toEqual([true, true, true]);
  expect(platform.incidents.filter((each) => String(each).includes('the disk is full'))).toHaveLength(1);
});

test('without a set time a session lasts until it expires', async () => {
  const { platform, isIn } = await withAda({});
  platform.clock.ms += 6 * 24 * HOUR_MS;
  expect(await isIn()).toBe(true);
});

test('a second factor is demanded of a new installation, before anything is bound or begun', async () => {
  const { platform } = await withAda();
  const factor = (demand: 'all' | 'new', shown: boolean) =>
    signIn(platform, 'ada', { sid: 'sid-2', secondFactor: { demand, shown } });
  for (const demand of ['all', 'new'] as const) {
    expect(await factor(demand, false)).toEqual({ refused: 'second_factor' });
    expect(await platform.admin.staff.session({ ...sessionOf('ada'), sid: 'sid-2' })).toBeNull();
  }
  expect(await factor('all', true)).toHaveProperty('member');
  // A person who is no member learns nothing of the demand.
  const nonMember = { secondFactor: { demand: 'all', shown: false } } as const;
  expect(await signIn(platform, 'eve', nonMember)).toEqual({ refused: 'not_on_roster' });
});

test('an installation that upgrades is not a new one', () => {
  const policyOf = (log: string) => {
    const db = new DatabaseSync(':memory:');
    const [staff, builders, presence] = staffMigrations.migrations;
    db.exec(`CREATE TABLE admin_log (sequence INTEGER); ${log}; ${staff.sql}; ${builders.sql}`);
    db.exec(presence.sql);
    return db.prepare('SELECT demands_second_factor AS demands FROM staff_policy').get();
  };
  expect(policyOf('')).toEqual({ demands: 1 });
  expect(policyOf('INSERT INTO admin_log VALUES (1)')).toEqual({ demands: 0 });
});
