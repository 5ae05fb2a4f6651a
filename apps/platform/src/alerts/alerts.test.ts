import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Degradation } from '@freehold/control-plane';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Alerts, loadAlertState } from './alerts.ts';
import type { AlertChannel, AlertMessage } from './channels.ts';
import { Conditions, type ConditionsOptions, type Room } from './conditions.ts';

const MINUTE_MS = 60_000;
const GIB = 1024 ** 3;
let data: string;
let nowMs: number;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'freehold-alerts-'));
  nowMs = Date.parse('2026-11-24T09:00:00Z');
});
afterEach(() => rmSync(data, { recursive: true, force: true }));

/** A platform without faults, and the messages that reached the operator. */
function open(dataDirectory = data) {
  const faults = {
    lagMs: 0,
    attachmentsLagMs: 0,
    state: 'current' as string,
    degraded: [] as Degradation[],
    room: { freeBytes: 50 * GIB, bytes: 100 * GIB } as Room | null,
    chain: 'ok',
  };
  const sent: AlertMessage[] = [];
  const failures: string[] = [];
  const way = { isDown: false };
  const channel: AlertChannel = {
    name: 'webhook',
    send: async (message) => {
      if (way.isDown) throw new Error('The webhook answered 500.');
      sent.push(message);
    },
  };
  const state = loadAlertState(dataDirectory);
  const conditions = new Conditions({
    archive: { archiveStatus: () => ({ state: faults.state, lagMs: faults.lagMs }) },
    blobArchive: { status: () => ({ waiting: 1, lagMs: faults.attachmentsLagMs }) },
    degraded: () => faults.degraded,
    verify: async () =>
      faults.chain === 'ok'
        ? { status: 'ok', firstBad: null }
        : { status: 'broken', firstBad: { sequence: 7, reason: faults.chain } },
    disks: [{ name: 'data', path: data }],
    roomOf: () => faults.room,
    memory: state.memory,
    backupEveryMs: 24 * 60 * MINUTE_MS,
    now: () => nowMs,
  } as unknown as ConditionsOptions);
  const alerts = new Alerts({
    platform: 'apps.example.org',
    dataDirectory,
    channels: [channel],
    state,
    observe: () => conditions.observe(),
    memory: conditions.memory,
    now: () => nowMs,
    onFailure: ({ reason, detail }) => void failures.push(`${reason}: ${detail}`),
  });
  const run = async (minutes = 1) => {
    for (let i = 0; i < minutes; i++) {
      nowMs += MINUTE_MS;
      await alerts.run();
    }
    return sent.splice(0).map(({ subject }) => subject.replace('[apps.example.org] ', ''));
  };
  return { faults, conditions, sent, failures, way, run };
}
type Opened = ReturnType<typeof open>;

describe('each fault is told once when it begins and once when it ends', () => {
  test.each<[string, string, (opened: Opened) => unknown, (opened: Opened) => unknown]>([
    [
      'the archive lags',
      'archive_lagging',
      ({ faults }) => (faults.lagMs = 11 * MINUTE_MS),
      ({ faults }) => (faults.lagMs = 0),
    ],
    [
      'attachments lag',
      'archive_lagging',
      ({ faults }) => (faults.attachmentsLagMs = 11 * MINUTE_MS),
      ({ faults }) => (faults.attachmentsLagMs = 0),
    ],
    [
      'the archive is that of another',
      'archive_refused',
      ({ faults }) => (faults.state = 'refused'),
      ({ faults }) => (faults.state = 'current'),
    ],
    [
      'a backup fails',
      'backup_failed',
      ({ conditions }) => conditions.onBackup({ unit: 'scp_1', outcome: 'failed' }),
      ({ conditions }) => conditions.onBackup({ unit: 'scp_1', outcome: 'swept' }),
    ],
    [
      'something is degraded',
      'unit_unreadable',
      ({ faults }) =>
        faults.degraded.push({ reason: 'unit_unreadable', detail: '1 database cannot be read.' }),
      ({ faults }) => faults.degraded.pop(),
    ],
    [
      'the chain of the admin log breaks',
      'admin_log_broken',
      async ({ faults, conditions }) => {
        faults.chain = 'hash_mismatch';
        await conditions.verify();
      },
      async ({ faults, conditions }) => {
        faults.chain = 'ok';
        await conditions.verify();
      },
    ],
    [
      'the disk fills',
      'disk_filling_data',
      ({ faults }) => (faults.room = { freeBytes: 9 * GIB, bytes: 100 * GIB }),
      ({ faults }) => (faults.room = null),
    ],
  ])('%s', async (_what, key, begin, end) => {
    const opened = open();
    expect(await opened.run(20)).toEqual([]);
    await begin(opened);
    expect(await opened.run(20)).toEqual([key]);
    // A restart repeats nothing, and what is looked into seldom is not over because of it.
    const { faults } = opened;
    const again = open();
    Object.assign(again.faults, faults);
    expect(await again.run(20)).toEqual([]);
    await end(again);
    expect(await again.run(30)).toEqual([`${key} ended`]);
  });
});

test('a fault that comes and goes is one message, and times in the future do not keep it', async () => {
  const { faults, run } = open();
  for (let i = 0; i < 6; i++) {
    faults.lagMs = i % 2 === 0 ? 11 * MINUTE_MS : 0;
    expect(await run(4)).toEqual(i === 0 ? ['archive_lagging'] : []);
  }
  nowMs -= 24 * 60 * MINUTE_MS;
  expect(await run(12)).toEqual(['archive_lagging ended']);
});

test('a message that was not taken over is sent by a later run, and reported', async () => {
  const { faults, failures, way, run } = open();
  way.isDown = true;
  faults.lagMs = 11 * MINUTE_MS;
  expect(await run(2)).toEqual([]);
  expect(failures[0]).toBe('not_sent: An alert was not sent: The webhook answered 500. It is tried again.');
  way.isDown = false;
  expect(await run(3)).toEqual(['archive_lagging']);
});

test('on a disk that takes no writes the operator is told once too', async () => {
  const { faults, run } = open(join(data, 'not there'));
  faults.degraded.push({ reason: 'storage_full', detail: 'The disk is full.' });
  expect(await run(5)).toEqual(['storage_full']);
  expect(existsSync(join(data, 'not there'))).toBe(false);
});

test('a message says since when, and what to do, and names no unit; the state changes with the faults alone', async () => {
  const { conditions, sent, run } = open();
  conditions.onBackup({ unit: 'scp_1', outcome: 'failed' });
  const { push } = sent;
  const messages: AlertMessage[] = [];
  sent.push = (...more) => {
    messages.push(...more);
    return push.apply(sent, more);
  };
  await run(1);
  expect(messages[0]?.text).toMatch(
    /^backup_failed, since 2026-11-24T09:01:00.000Z: A scheduled backup failed: freehold .+\n.*What to watch/,
  );
  expect(JSON.stringify(messages)).not.toContain('scp_1');
  const text = readFileSync(join(data, 'alerts.json'), 'utf8');
  await run(5);
  expect(readFileSync(join(data, 'alerts.json'), 'utf8')).toBe(text);
});
