/** A deployment that reports its steps as events. */
import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeMemoryRuntime } from '../../test/memory-runtime.ts';
import { type CallParts, openPlatform, type Platform, refusal } from '../../test/platform.ts';
import { manifestOf } from '../../test/registry.ts';
import type { AdminResult, OperationEvent } from '../access/actors.ts';
import type { DeployStep, VersionRecord } from '../admin-operations.ts';

const TYPE = 'application/javascript+module';
const MODULES = [
  { name: 'index.js', mediaType: TYPE, base64: btoa('export default 1') },
  { name: 'lib/empty.js', mediaType: TYPE, base64: '' },
];
const BYTES = 16;
const ALL = { modules: { done: 2, total: 2 }, bytes: { done: BYTES, total: BYTES } };

async function openApp(options: Parameters<typeof openPlatform>[0] = {}) {
  const runtime = makeMemoryRuntime();
  const platform = await openPlatform({ runtime, ...options });
  await platform.call('verticals.create', { body: { slug: 'app', name: 'App' } });
  return { platform, runtime };
}

const deploy = (platform: Platform, body: object = {}, more: CallParts = {}) =>
  platform.call('verticals.deploy', {
    params: { slug: 'app' },
    body: { manifest: manifestOf('app', '1.0.0'), modules: MODULES, admit: true, promote: true, ...body },
    events: true,
    ...more,
  });

type Said = OperationEvent<unknown>;

async function heard({ events }: AdminResult): Promise<Said[]> {
  const seen: Said[] = [];
  for await (const event of events ?? []) seen.push(event);
  return seen;
}

const steps = (events: readonly Said[]) =>
  events.map(({ event, record }) => (event === 'progress' ? (record as DeployStep).step : event));

const outcomes = async (platform: Platform) =>
  (await platform.adminLog({ action: 'verticals.deploy' })).map(({ outcome }) => outcome);

const version = async (platform: Platform) =>
  (await platform.value<{ items: VersionRecord[] }>('vertical-versions.list', { params: { slug: 'app' } }))
    .items[0];

/** A runtime that stops before a step, and tells when it is there. */
function held() {
  const reached = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    letThrough: () => gate.resolve(),
    at:
      (place: string) =>
      async (what: string): Promise<void> => {
        if (what !== place) return;
        reached.resolve();
        await gate.promise;
      },
  };
}

describe('spec C-13: a deployment with events', () => {
  test('reports each step as it happens, and at the end the answer of a call without events', async () => {
    const { platform, runtime } = await openApp();
    const begun = await deploy(platform, {}, { key: 'one' });
    const [intent] = await platform.adminLog({ action: 'verticals.deploy' });
    expect(begun).toMatchObject({ status: 200, head: { sequence: intent?.sequence, hash: intent?.hash } });
    const events = await heard(begun);
    expect(steps(events).filter((step, index, all) => step !== all[index - 1])).toEqual([
      ...['registered', 'uploading', 'uploaded', 'admitted', 'serving', 'done'],
    ]);
    const { id } = (await version(platform)) as VersionRecord;
    expect(events[0]?.record).toEqual({
      step: 'registered',
      id,
      version: '1.0.0',
      modules: { done: 0, total: 2 },
      bytes: { done: 0, total: BYTES },
    });
    expect(events.at(-2)?.record).toEqual({ step: 'serving', id, version: '1.0.0', ...ALL });
    expect(runtime.serving.get('app')).toBe('app--1.0.0');

    const rows = await platform.adminLog({ action: 'verticals.deploy' });
    const done = rows.at(-1);
    expect(done?.outcome).toBe('done');
    expect(events.at(-1)?.head).toEqual({ sequence: done?.sequence, hash: done?.hash });
    const plain = await platform.call('verticals.deploy', {
      params: { slug: 'app' },
      body: { manifest: manifestOf('app', '1.0.0'), modules: MODULES, admit: true, promote: true },
      key: 'one',
    });
    expect(plain).toMatchObject({ status: 201, replayed: true });
    expect(events.at(-1)?.record).toEqual(plain.value);
  });

  test('counts files and bytes while the runtime takes them', async () => {
    const { platform, runtime } = await openApp();
    const { reached, letThrough, at } = held();
    runtime.before = at('lib/empty.js');
    const { events } = await deploy(platform);
    await reached;
    const reader = (events as ReadableStream<Said>).getReader();
    const next = async () => (await reader.read()).value;
    expect((await next())?.record).toMatchObject({ step: 'registered' });
    // The beginning of the upload was not read in time: only its latest report is left.
    expect((await next())?.record).toMatchObject({
      step: 'uploading',
      modules: { done: 1, total: 2 },
      bytes: { done: BYTES, total: BYTES },
    });
    letThrough();
    const rest: Said[] = [];
    for (let event = await next(); event; event = await next()) rest.push(event);
    expect(steps(rest)).toEqual(['uploading', 'uploaded', 'admitted', 'serving', 'done']);
  });

  test('reports no step that was not asked for', async () => {
    const { platform } = await openApp();
    const events = steps(await heard(await deploy(platform, { admit: false, promote: false })));
    expect(events).not.toContain('admitted');
    expect(events).not.toContain('serving');
    expect(events.at(-1)).toBe('done');
  });

  test('continues to its end when its reader leaves, before the first event or in the middle', async () => {
    for (const place of ['index.js', 'serve app--1.0.0']) {
      const { platform, runtime } = await openApp();
      const { reached, letThrough, at } = held();
      runtime.before = at(place);
      const { events } = await deploy(platform, {}, { key: 'gone' });
      const reader = (events as ReadableStream<Said>).getReader();
      if (place !== 'index.js') await reader.read();
      await reached;
      await reader.cancel();
      expect(await outcomes(platform)).toEqual(['intent']);
      letThrough();
      await expect.poll(() => outcomes(platform)).toEqual(['intent', 'done']);
      expect(await version(platform)).toMatchObject({ status: 'admitted', serving: true });
      // A repeat with the key is told the outcome.
      const again = await deploy(platform, {}, { key: 'gone' });
      expect(again).toMatchObject({ status: 200, replayed: true });
      expect(steps(await heard(again))).toEqual(['done']);
      expect(platform.incidents).toEqual([]);
    }
  });

  test('delays the stop of the platform until it has ended, also without a reader', async () => {
    const { platform, runtime } = await openApp();
    const { reached, letThrough, at } = held();
    runtime.before = at('index.js');
    const { events } = await deploy(platform);
    await reached;
    await events?.cancel();
    let isStopped = false;
    const stopped = platform.admin.stopLongWork().then(() => {
      isStopped = true;
    });
    await outcomes(platform);
    expect(isStopped).toBe(false);
    letThrough();
    await stopped;
    expect(await outcomes(platform)).toEqual(['intent', 'done']);
  });

  test('is one call with its key, with events or without', async () => {
    const { platform, runtime } = await openApp();
    const { reached, letThrough, at } = held();
    runtime.before = at('index.js');
    const first = await deploy(platform, {}, { key: 'k' });
    await reached;
    expect(await refusal(deploy(platform, {}, { key: 'k' }))).toMatchObject({
      status: 409,
      reason: 'idempotency_in_progress',
    });
    letThrough();
    const [last] = (await heard(first)).slice(-1);
    const again = await heard(await deploy(platform, {}, { key: 'k' }));
    expect(again).toMatchObject([{ event: 'done', record: last?.record }]);
  });

  test('that changes nothing is a single event', async () => {
    const { platform } = await openApp();
    const first = await heard(await deploy(platform));
    const before = await platform.adminLog();
    const again = await heard(await deploy(platform));
    expect(steps(again)).toEqual(['done']);
    expect(again[0]?.record).toMatchObject({ version: { serving: true }, promoted: true });
    expect(steps(first).at(-1)).toBe('done');
    expect(await platform.adminLog()).toEqual(before);
  });

  test('keeps the line open with a heartbeat while the runtime takes its time', async () => {
    // Every wait is over as soon as all other callbacks had a turn.
    const sleep = () => new Promise<void>((resolve) => void setImmediate(resolve));
    const { platform, runtime } = await openApp({ sleep });
    const { letThrough, at } = held();
    runtime.before = at('index.js');
    const kinds: string[] = [];
    for await (const { event } of (await deploy(platform)).events ?? []) {
      kinds.push(event);
      if (event === 'heartbeat') letThrough();
    }
    expect(kinds).toContain('heartbeat');
    expect(kinds.at(-1)).toBe('done');
  });
});

describe('a deployment with events that fails', () => {
  test('before anything begins is refused as without events', async () => {
    const { platform } = await openApp();
    const missing = deploy(platform, {}, { params: { slug: 'nothing' } });
    expect(await refusal(missing)).toMatchObject({ status: 404 });
    expect(await refusal(deploy(platform, { admit: false }))).toMatchObject({
      status: 409,
      reason: 'version_not_admitted',
    });
    expect(await outcomes(platform)).toEqual([]);
    const bare = await openPlatform();
    await bare.call('verticals.create', { body: { slug: 'app', name: 'App' } });
    expect(await refusal(deploy(bare))).toMatchObject({ status: 501, reason: 'no_runtime' });
  });

  test('by a refusal ends with its problem, and the registration is taken back', async () => {
    const { platform, runtime } = await openApp();
    runtime.before = () => Promise.reject(new PlatformError('validation_failed', 'It does not compile.'));
    const events = await heard(await deploy(platform));
    expect(steps(events).at(-1)).toBe('failed');
    expect(events.at(-1)?.record).toMatchObject({
      status: 400,
      code: 'validation_failed',
      detail: 'It does not compile.',
      requestId: expect.stringMatching(/^req-/),
    });
    expect(await outcomes(platform)).toEqual(['intent', 'failed']);
    expect(await version(platform)).toBeUndefined();
  });

  test('with an unknown outcome ends so, shows nothing of the fault, and can be resumed', async () => {
    const { platform, runtime } = await openApp();
    runtime.before = async (what) => {
      if (what.startsWith('serve')) throw new TypeError('socket of 10.0.0.7 closed');
    };
    const events = await heard(await deploy(platform, {}, { key: 'k' }));
    expect(steps(events)).not.toContain('admitted');
    expect(events.at(-1)).toMatchObject({
      event: 'failed',
      record: { status: 502, code: 'runtime_fault', reason: 'outcome_unknown' },
    });
    expect(JSON.stringify(events)).not.toContain('10.0.0.7');
    expect(await platform.adminLog({ outcome: 'unsettled' })).toHaveLength(1);
    runtime.before = async () => undefined;
    expect(steps(await heard(await deploy(platform, {}, { key: 'k' }))).at(-1)).toBe('done');
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
  });
});
