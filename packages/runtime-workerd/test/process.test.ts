/** Processes of verticals: started, ended, replaced and started again, each in order. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { earliestAlarm } from '../src/process/alarms.ts';
import { ACME, BOLT, type Place, SECOND } from './place.ts';
import { isGone, openProcesses, type Processes } from './processes.ts';

const PATIENT = { timeout: 15_000 };

let place: Place;
let processes: Processes;

beforeAll(async () => {
  processes = await openProcesses();
  place = processes.place;
}, 60_000);

// A process that failed is put off: the next test begins without that.
afterEach(async () => {
  await place.reopen();
  place.faults.length = 0;
});

afterAll(() => place.close());

test('nothing runs before the first request, and nothing after a time without one', async () => {
  expect(existsSync(join(place.folder, 'notes'))).toBe(false);
  expect(await processes.textOf('/version')).toBe('1.0.0');
  const pid = processes.pidOf() as number;
  expect(isGone(pid)).toBe(false);
  await expect.poll(() => isGone(pid), PATIENT).toBe(true);
  expect([place.runtime.processes(), place.faults]).toEqual([[], []]);
});

test('first requests that come at once share one start', async () => {
  const answers = await Promise.all([
    processes.textOf('/version'),
    processes.textOf('/version', BOLT),
    processes.textOf('/version'),
  ]);
  expect(answers).toEqual(['1.0.0', '1.0.0', '1.0.0']);
  expect(place.runtime.processes()).toHaveLength(1);
});

test('an answer that takes longer than the idle time keeps its process up to the last byte', async () => {
  const response = await place.visit('/stream', ACME);
  const pid = processes.pidOf();
  expect((await response.arrayBuffer()).byteLength).toBe(2_000);
  expect([processes.pidOf(), place.faults]).toEqual([pid, []]);
});

test('a request that meets the end of a process waits for it, and what runs there is answered', async () => {
  await processes.textOf('/version');
  const pid = processes.pidOf() as number;
  const running = processes.textOf('/slow?ms=400');
  await new Promise((resolve) => setTimeout(resolve, 50));
  const ended = place.runtime.end('notes');
  const next = processes.textOf('/version');
  await ended;
  expect(isGone(pid)).toBe(true);
  expect([await running, await next, place.faults]).toEqual(['done', '1.0.0', []]);
  expect(processes.pidOf()).not.toBe(pid);
});

test('a platform that was busy itself does not take its processes for hung', async () => {
  await place.reopen({ silenceMs: 3_000 });
  await processes.textOf('/version');
  const pid = processes.pidOf();
  // Blocks this thread as work would, and leaves the processor to the others.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_500);
  expect([await processes.textOf('/version'), processes.pidOf(), place.faults]).toEqual(['1.0.0', pid, []]);
});

test('no more instances are used at once than may have files open', async () => {
  await place.reopen({ instancesMax: 1 });
  const used = await place.visit('/stream', ACME);
  const refused = place.visit('/version', BOLT);
  await expect(refused).rejects.toMatchObject({ status: 503, reason: 'too_many_open_files' });
  expect([await processes.textOf('/version'), place.faults]).toEqual(['1.0.0', []]);
  await used.body?.cancel();
});

test('work that a crash cut off is done without a request', async () => {
  const dueAtMs = Number(await processes.textOf('/due?ms=3000'));
  // From now on it is due even if the process dies.
  await expect.poll(() => earliestAlarm(join(place.folder, 'notes')), PATIENT).toBe(dueAtMs);
  process.kill(processes.pidOf() as number, 'SIGKILL');
  await expect.poll(() => place.faults.length, PATIENT).toBe(1);
  expect(place.faults).toMatchObject([{ reason: 'died', detail: 'It ended by SIGKILL.', scopes: [] }]);
  place.lines.length = 0;
  await expect.poll(() => processes.worked() > 0 && Date.now() >= dueAtMs, PATIENT).toBe(true);
});

test('a visitor who went away is not among those whose requests a crash cut off', async () => {
  await processes.textOf('/version');
  const leaving = new AbortController();
  const left = place.visit('/slow?ms=1000', BOLT, { signal: leaving.signal }).catch(() => 'left');
  const cutOff = expect(place.visit('/slow?ms=5000', ACME)).rejects.toMatchObject({ code: 'unavailable' });
  await new Promise((resolve) => setTimeout(resolve, 50));
  leaving.abort();
  expect(await left).toBe('left');
  process.kill(processes.pidOf() as number, 'SIGKILL');
  await cutOff;
  await expect.poll(() => place.faults).toMatchObject([{ reason: 'died', scopes: [ACME.scope] }]);
});

test('a process that has as much memory as it may is replaced once, and no request fails', async () => {
  // Full from the beginning, and its successor too: that is what it needs.
  await place.reopen({ fullMib: 1 });
  const failures: unknown[] = [];
  const pids = new Set<number>();
  let answers = 0;
  let isAsking = true;
  const asking = (async () => {
    while (isAsking) {
      await processes.textOf('/version', BOLT).catch((error) => failures.push(error));
      const pid = processes.pidOf();
      if (pid !== null) pids.add(pid);
      answers++;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  try {
    // This outlasts the wait for it: the process goes on until it is answered.
    expect(await processes.textOf('/slow?ms=1500', SECOND)).toBe('done');
    await expect.poll(() => pids.size, { timeout: 60_000 }).toBeGreaterThan(1);
    const answersThen = answers;
    await expect.poll(() => answers > answersThen + 50, { timeout: 60_000 }).toBe(true);
    expect([failures, place.faults, pids.size]).toEqual([[], [], 2]);
  } finally {
    isAsking = false;
    await asking;
  }
}, 180_000);

test('a process that outlived its platform is ended by the next start, and what it stored is there', async () => {
  expect((await place.provision(ACME)).status).toBe(200);
  const orphan = processes.pidOf() as number;
  // With work that is due, the first platform, which lives here, would start a process of its own again.
  await expect.poll(() => earliestAlarm(join(place.folder, 'notes')), PATIENT).toBe(null);
  // The alarm of an instance that is open, too, would be due for it: both processes would have the same files.
  const next = place.open(undefined, { recoverMs: 600_000 });
  try {
    await next.open(['notes']);
    const node = {
      ...ACME,
      vertical: 'notes',
      version: '1.0.0',
      surface: 'app',
      origin: 'http://shop.localhost',
    };
    const me = () => next.fetch('notes', new Request('http://shop.localhost/api/me'), node, null);
    await me();
    expect(isGone(orphan)).toBe(true);
    // The first platform, which lives only here, hears of it and closes its socket: by now it may be that of the next one.
    await expect.poll(() => place.faults.length, PATIENT).toBe(1);
    await next.end('notes');
    expect((await me()).status).toBe(200);
  } finally {
    await next.close();
  }
}, 60_000);
