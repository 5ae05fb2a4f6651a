import { expect, test } from 'vitest';
import { type BackupPolicy, expiredOf, expiredOfReaped, isDue, type ScheduledCopy } from './schedule.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const POLICY: BackupPolicy = { everyMs: DAY_MS, keepDaily: 7, keepWeekly: 4 };
/** A Saturday. */
const START_MS = Date.UTC(2026, 10, 21, 8);

const dayOf = ({ atMs }: ScheduledCopy): string => new Date(atMs).toISOString().slice(0, 10);

/** Makes a backup at an interval, expires after each as the platform does, and returns those that are left. */
function run({
  days,
  everyMs = DAY_MS,
  policy = POLICY,
  fails = () => false,
}: {
  days: number;
  everyMs?: number;
  policy?: BackupPolicy;
  fails?: (day: number) => boolean;
}): readonly ScheduledCopy[] {
  let copies: readonly ScheduledCopy[] = [];
  for (let ms = 0; ms < days * DAY_MS; ms += everyMs) {
    const nowMs = START_MS + ms;
    if (fails(Math.floor(ms / DAY_MS))) continue;
    copies = [...copies, { id: `bkp_${nowMs}`, atMs: nowMs }];
    const over = new Set(expiredOf(copies, policy, nowMs));
    copies = copies.filter((copy) => !over.has(copy));
  }
  return copies;
}

test('spec C-19: after 60 days there are seven days, and four weeks', () => {
  // 2027-01-19 is a Tuesday: its week has no Sunday yet.
  expect(run({ days: 60 }).map(dayOf)).toEqual([
    ...['2027-01-03', '2027-01-10'],
    ...['2027-01-13', '2027-01-14', '2027-01-15', '2027-01-16', '2027-01-17', '2027-01-18', '2027-01-19'],
  ]);
});

test('with several a day, those of the last day stay, and of each earlier day the newest', () => {
  const copies = run({ days: 60, everyMs: 6 * HOUR_MS });
  expect(copies.slice(-5).map(({ atMs }) => new Date(atMs).toISOString().slice(5, 13))).toEqual([
    // The newest of its day; the others of that day are exactly a day old by now.
    '01-18T20',
    '01-19T08',
    '01-19T14',
    '01-19T20',
    '01-20T02',
  ]);
  expect(new Set(copies.map(dayOf)).size).toBe(9);
});

test('while every backup fails, none is deleted', () => {
  const before = run({ days: 30 });
  expect(run({ days: 60, fails: (day) => day >= 30 })).toEqual(before);
  // Days without a backup do not count after the repair either: seven days that have one are retained.
  const after = run({ days: 60, fails: (day) => day >= 30 && day < 57 }).map(dayOf);
  expect(after.slice(-7)).toEqual([
    ...['2026-12-17', '2026-12-18', '2026-12-19', '2026-12-20'],
    ...['2027-01-17', '2027-01-18', '2027-01-19'],
  ]);
});

test.each([
  [{ keepDaily: 1, keepWeekly: 0 }, ['2027-01-18', '2027-01-19']],
  [{ keepDaily: 2, keepWeekly: 2 }, ['2027-01-17', '2027-01-18', '2027-01-19']],
] as const)('%j retains %j: a copy younger than a day is never deleted', (stored, days) => {
  const copies = run({ days: 60, policy: { ...POLICY, ...stored } });
  // The copy of a day ago is exactly a day old, and has expired.
  expect(copies.map(dayOf)).toEqual(stored.keepDaily === 1 ? days.slice(1) : days);
});

test('the newest stays however old it is: a scope is never left without one', () => {
  const one = [{ id: 'bkp_1', atMs: 0 }];
  expect(expiredOf(one, { ...POLICY, keepDaily: 1, keepWeekly: 0 }, START_MS)).toEqual([]);
  expect(expiredOf([], POLICY, START_MS)).toEqual([]);
  // Also with a policy that retains none.
  expect(expiredOf(one, { ...POLICY, keepDaily: 0, keepWeekly: 0 }, START_MS)).toEqual([]);
});

test('spec C-19: a backup of this very moment is not due, whatever its slot', () => {
  for (let nowMs = 1_000; nowMs < 1_020; nowMs++)
    expect(isDue('scp_1', { newestAtMs: nowMs, everyMs: 10, nowMs })).toBe(false);
});

test('spec C-19: the expiration of a copy of a reaped scope counts after twenty hours', () => {
  const copies = [{ id: 'last', atMs: START_MS }];
  const endMs = START_MS + 28 * DAY_MS;
  const expired = (hours: number) => {
    const nowMs = endMs + hours * HOUR_MS;
    return expiredOfReaped(copies, POLICY, { nowMs, seenMs: [endMs, nowMs] });
  };
  expect(expired(19.9)).toEqual([]);
  expect(expired(20)).toEqual(copies);
});

test('all copies of a reaped scope expire once they are as old as the oldest that a living one retains', () => {
  const copies = [
    { id: 'old', atMs: START_MS - 30 * DAY_MS },
    { id: 'kept', atMs: START_MS - 28 * DAY_MS },
  ];
  const seenMs = [START_MS, START_MS - DAY_MS, START_MS - 2 * DAY_MS];
  expect(expiredOfReaped(copies, POLICY, { nowMs: START_MS, seenMs })).toEqual([copies[0]]);
  const nowMs = START_MS + DAY_MS;
  expect(expiredOfReaped(copies, POLICY, { nowMs, seenMs: [nowMs, ...seenMs] })).toEqual(copies);
});

test('a clock that is ahead for a while expires nothing of a reaped scope', () => {
  const copies = [{ id: 'last', atMs: START_MS }];
  const aheadMs = START_MS + 60 * DAY_MS;
  const seenMs = [START_MS, aheadMs, aheadMs + 10 * HOUR_MS];
  expect(expiredOfReaped(copies, POLICY, { nowMs: aheadMs + 10 * HOUR_MS, seenMs })).toEqual([]);
  // Moments that were seen then do not count for a time that has not come.
  const nowMs = START_MS + 29 * DAY_MS;
  expect(expiredOfReaped(copies, POLICY, { nowMs, seenMs: [...seenMs, nowMs] })).toEqual([]);
  expect(expiredOfReaped(copies, POLICY, { nowMs, seenMs: [] })).toEqual([]);
});

test('a copy dated into the future replaces no other, and delays nothing', () => {
  const future = { id: 'future', atMs: START_MS + 60 * DAY_MS };
  const copies = Array.from({ length: 3 }, (_, i) => ({ id: `bkp_${i}`, atMs: START_MS - i * DAY_MS }));
  const stored = { ...POLICY, keepDaily: 2, keepWeekly: 0 };
  expect(expiredOf([...copies, future], stored, START_MS)).toEqual([copies[2]]);
  // The newest of the past copies stays, however old.
  expect(expiredOf([future, ...copies.slice(2)], { ...stored, keepDaily: 1 }, START_MS + 9 * DAY_MS)).toEqual(
    [],
  );
  expect(isDue('scp_1', { newestAtMs: future.atMs, everyMs: DAY_MS, nowMs: START_MS })).toBe(true);
});

test('a unit is due once in each interval, and the slots of a fleet are spread over it', () => {
  const fleet = Array.from({ length: 240 }, (_, i) => `scp_01jd0000000000000000000${i}`);
  const newest = new Map<string, number>();
  const made: number[] = [];
  for (let hour = 0; hour < 72; hour++) {
    const nowMs = START_MS + hour * HOUR_MS;
    const due = fleet.filter((id) =>
      isDue(id, { newestAtMs: newest.get(id) ?? null, everyMs: DAY_MS, nowMs }),
    );
    for (const id of due) newest.set(id, nowMs);
    made.push(due.length);
  }
  // A unit without a backup is due at once.
  expect(made[0]).toBe(240);
  const ofDay = (day: number) => made.slice(1 + day * 24, 25 + day * 24);
  for (const day of [0, 1]) {
    expect(ofDay(day).reduce((sum, each) => sum + each)).toBe(240);
    expect(Math.max(...ofDay(day))).toBeLessThan(30);
  }
});
