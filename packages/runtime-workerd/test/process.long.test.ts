/** Processes of verticals that fail again and again, hang or take all memory: no matter of their neighbours. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { VerticalProcess } from '../src/process/vertical-process.ts';
import { notes } from './bundles/plain.ts';
import { ACME, BOLT, OTHER, type Place, SECOND } from './place.ts';
import { openProcesses, type Processes, processBundle } from './processes.ts';

const PATIENT = { timeout: 15_000 };

let place: Place;
let processes: Processes;

beforeAll(async () => {
  processes = await openProcesses({ silenceMs: 3_000 });
  place = processes.place;
}, 60_000);

// A process that failed is put off: the next test begins without that.
afterEach(async () => {
  await place.reopen();
  place.faults.length = 0;
});

afterAll(() => place.close());

test('a start that fails is put off, and not tried in a loop, also for work that is due', async () => {
  await processes.textOf('/due?ms=500');
  const wake = vi.spyOn(VerticalProcess.prototype, 'wake');
  const inTheWay = join(place.folder, 'notes', 'host.js');
  rmSync(inTheWay, { force: true });
  mkdirSync(inTheWay);
  process.kill(processes.pidOf() as number, 'SIGKILL');
  // Pauses of 0.25, 0.5, 1, 2 and 4 seconds.
  await expect.poll(() => place.faults.length, PATIENT).toBe(5);
  expect(place.runtime.failing()).toEqual(['notes']);
  expect(place.faults.at(-1)).toMatchObject({
    reason: 'not_started',
    detail: expect.stringContaining('EISDIR'),
  });
  const refused = { code: 'unavailable', headers: { 'retry-after': expect.stringMatching(/^[234]$/) } };
  await expect(place.visit('/version', ACME)).rejects.toMatchObject(refused);
  expect(wake.mock.calls.length).toBeLessThanOrEqual(5);
  rmSync(inTheWay, { recursive: true });
  await expect.poll(() => processes.textOf('/version').catch(() => null), PATIENT).toBe('1.0.0');
  wake.mockRestore();
}, 30_000);

test('a vertical whose process hangs is no matter of another one', async () => {
  const app = notes('1.0.0', []);
  const script = await place.upload(
    { ...app, manifest: { ...app.manifest, slug: 'other' } },
    processBundle(
      '1.0.0',
      "const said = await super.declaration(); return { ...said, manifest: { ...said.manifest, slug: 'other' } };",
    ),
  );
  await place.runtime.serve({ vertical: 'other', archiveScript: script });
  await Promise.all([processes.textOf('/version'), processes.textOf('/version', OTHER)]);
  const before = [processes.pidOf('notes'), processes.pidOf('other')];
  const looping = place.visit('/loop', ACME).then(
    () => 'answered',
    ({ code }) => code,
  );
  let answers = 0;
  const isOver = Symbol('over');
  for (let over: unknown = null; over !== isOver; answers++) {
    expect(await processes.textOf('/version', OTHER)).toBe('1.0.0');
    const pause = new Promise((resolve) => setTimeout(resolve, 20));
    over = await Promise.race([looping.then(() => isOver), pause]);
  }
  expect([await looping, answers > 10, processes.pidOf('other')]).toEqual(['unavailable', true, before[1]]);
  await expect
    .poll(() => place.faults)
    .toMatchObject([{ vertical: 'notes', reason: 'hung', scopes: [ACME.scope] }]);
  await expect.poll(() => processes.textOf('/version').catch(() => null), PATIENT).toBe('1.0.0');
  expect(processes.pidOf('notes')).not.toBe(before[0]);
}, 30_000);

test('the end of one that took all memory names the memory', async () => {
  await processes.textOf('/version');
  await expect(place.visit('/allocate', BOLT)).rejects.toMatchObject({ code: 'unavailable' });
  await expect.poll(() => place.faults, PATIENT).toMatchObject([{ reason: 'memory', scopes: [BOLT.scope] }]);
  await expect.poll(() => processes.textOf('/version').catch(() => null), PATIENT).toBe('1.0.0');
}, 30_000);

test('a bundle that hangs or kills the check is named, and no other upload waits for its fault', async () => {
  const upload = (version: string, declared: string) =>
    place.upload(notes(version, []), processBundle(version, declared)).then(
      () => 'taken',
      ({ code, reason, message }) => `${code} ${reason} ${message}`,
    );
  const answers = await Promise.all([
    upload('2.0.0', 'for (;;) Math.random();'),
    upload('2.0.1', 'return super.declaration();'),
    upload('2.0.2', 'for (const all = []; ; ) all.push(new Array(1_000_000).fill(all.length));'),
    upload('2.0.3', 'return super.declaration();'),
  ]);
  expect(answers).toEqual([
    expect.stringContaining(
      'validation_failed bundle_broken The bundle cannot be loaded: It did not answer for 9 s',
    ),
    'taken',
    expect.stringContaining('bundle_broken The bundle cannot be loaded: It needed more memory'),
    'taken',
  ]);
  expect(place.faults).toEqual([]);
}, 60_000);

test('one that went on because an answer took long, and then dies, is started again', async () => {
  // Long enough that a busy machine begins to replace it, and then gives that up.
  await place.reopen({ fullMib: 1, drainMs: 8_000 });
  const slow = expect(processes.textOf('/slow?ms=60000', SECOND)).rejects.toMatchObject({
    code: 'unavailable',
  });
  await expect.poll(() => processes.pidOf(), PATIENT).not.toBe(null);
  const pid = processes.pidOf() as number;
  // It is none of the present ones while its answers are waited for, and is it again after that.
  await expect.poll(() => processes.pidOf(), PATIENT).toBe(null);
  await expect.poll(() => processes.pidOf(), PATIENT).toBe(pid);
  process.kill(pid, 'SIGKILL');
  await slow;
  // Until its end is noticed, a request is refused.
  const version = () => processes.textOf('/version', BOLT).catch(() => 'none');
  await expect.poll(version, PATIENT).toBe('1.0.0');
  expect(processes.pidOf()).not.toBe(pid);
}, 60_000);
