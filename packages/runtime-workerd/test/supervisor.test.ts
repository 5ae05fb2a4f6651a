/** The supervisor of a scope: its alarm, and moves that meet a start or a crash. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listObjects, objectIdOf } from '../src/copies/object-files.ts';
import { earliestAlarm } from '../src/process/alarms.ts';
import { notes } from './bundles/plain.ts';
import { ACME, BOLT, openPlace, type Place, SECOND } from './place.ts';

const TAGS = { version: 2, name: 'tags', sql: 'CREATE TABLE tags (name TEXT PRIMARY KEY) STRICT' };
const HOUR_MS = 3_600_000;

let place: Place;
let settingsMs = 0;
let secrets: Record<string, string> = {};

/** @param open the body of the function that opens the scope's database. */
const deploy = (version: string, isMigrating: boolean, open = 'return super.open();'): Promise<string> => {
  const migrations = isMigrating ? [TAGS] : [];
  return place.upload(
    notes(version, migrations),
    `import { hostedApp } from '@freehold/app/worker/hosted';
    import { notes } from './plain.ts';
    const { Instance: Plain, Declaration } = hostedApp(notes('${version}', ${JSON.stringify(migrations)}));
    const hang = async () => {
      await fetch('https://hangs.invalid/').catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    };
    let dueAtMs = null;
    export { Declaration };
    export class Instance extends Plain {
      async fetch(request) {
        const { pathname, searchParams } = new URL(request.url);
        if (pathname === '/version') return new Response('${version}');
        if (pathname === '/secret') {
          const { PAYMENT_KEY = 'none' } = this.ctx.props.settings;
          await new Promise((resolve) => setTimeout(resolve, Number(searchParams.get('ms'))));
          return new Response(PAYMENT_KEY);
        }
        if (pathname === '/provider') return new Response(this.ctx.props.settings.AUTH_PROVIDER);
        if (pathname !== '/due') return super.fetch(request);
        dueAtMs = Date.now() + Number(searchParams.get('ms'));
        await this.ctx.props.platform.wake();
        return new Response(String(dueAtMs));
      }
      async work() {
        return dueAtMs;
      }
      async open() {
        ${open}
      }
    }`,
  );
};

beforeAll(async () => {
  place = openPlace({
    vertical: 'notes',
    secrets: () => secrets,
    beforeSettings: () => new Promise((resolve) => setTimeout(resolve, settingsMs)),
  });
  await place.runtime.serve({ vertical: 'notes', archiveScript: await deploy('1.0.0', false) });
}, 60_000);

afterAll(() => place.close());

const alarmAtMs = (): number | null => earliestAlarm(join(place.folder, 'notes'));
const versionOf = async (instance = ACME): Promise<string> =>
  (await place.visit('/version', instance)).text();
const move = (script: string, { tenant, scope } = ACME) =>
  place.runtime.move({ vertical: 'notes', tenant, scope, script });

test('a request that may enqueue work brings an alarm forward that is an hour ahead', async () => {
  const dueAtMs = Number(await (await place.visit(`/due?ms=${HOUR_MS}`, SECOND)).text());
  await expect.poll(alarmAtMs).toBe(dueAtMs);
  await place.visit('/version', SECOND, { method: 'POST' });
  expect(alarmAtMs()).toBeLessThan(dueAtMs - HOUR_MS / 2);
});

test('requests do not put off work that is due, also after the object was made anew', async () => {
  const dueAtMs = Number(await (await place.visit('/due?ms=30000', ACME)).text());
  await expect.poll(alarmAtMs).toBe(dueAtMs);
  await place.runtime.end('notes');
  await place.visit('/version', ACME, { method: 'POST' });
  expect(alarmAtMs()).toBe(dueAtMs);
});

test('a move waits for a request that is starting the bundle before', async () => {
  expect((await place.provision(ACME)).status).toBe(200);
  const script = await deploy('1.1.0', true);
  await place.runtime.end('notes');
  settingsMs = 300;
  const starting = versionOf();
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect((await move(script)).failure).toBeNull();
  settingsMs = 0;
  expect([await starting, await versionOf()]).toEqual(['1.0.0', '1.1.0']);
});

test.each([
  ['before the migration leaves the bundle before', '1.2.0', 'await hang();', '1.0.0'],
  ['after the migration ends at the new one', '1.3.0', 'await super.open(); await hang();', '1.3.0'],
])(
  'a move that a crash cuts off %s',
  async (_what, version, open, after) => {
    if ((await place.runtime.running('notes', BOLT.scope)) === null)
      expect((await place.provision(BOLT)).status).toBe(200);
    const script = await deploy(version, true, open);
    const faults = place.faults.length;
    place.lines.length = 0;
    const cutOff = expect(move(script, BOLT)).rejects.toMatchObject({ code: 'unavailable' });
    // A call of a bundle leaves it only after its writes are durable.
    const isHanging = () =>
      place.lines.some((line) => line.kind === 'egress' && line.host === 'hangs.invalid');
    await expect.poll(isHanging, { timeout: 10_000 }).toBe(true);
    process.kill(
      place.runtime.processes().find(({ vertical }) => vertical === 'notes')?.pid as number,
      'SIGKILL',
    );
    await cutOff;
    await expect.poll(() => place.faults.length).toBe(faults + 1);
    expect(await versionOf(BOLT)).toBe(after);
    expect((await place.visit('/api/me', BOLT)).status).toBe(200);
  },
  30_000,
);

test('a changed secret is that of the next request; one that is running goes on with the former', async () => {
  const secret = async (ms = 0) => (await place.visit(`/secret?ms=${ms}`, ACME)).text();
  const set = async (value: string): Promise<void> => {
    secrets = { PAYMENT_KEY: value };
    await place.runtime.settingsChanged('notes');
  };
  expect(await secret()).toBe('none');
  await set('first');
  expect(await secret()).toBe('first');
  const running = secret(300);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await set('second');
  expect([await secret(), await secret(), await running]).toEqual(['second', 'second', 'first']);
});

test('a change starts no process that rests, and its next start reads the secret', async () => {
  await place.runtime.end('notes');
  secrets = { PAYMENT_KEY: 'third', AUTH_PROVIDER: 'of the builder' };
  await place.runtime.settingsChanged('notes');
  expect(place.runtime.processes()).toEqual([]);
  expect(await (await place.visit('/secret', ACME)).text()).toBe('third');
  // A setting of the platform wins.
  expect(await (await place.visit('/provider', ACME)).text()).toBe('directory');
});

test('of a scope that was deleted nothing is left, its copy included', async () => {
  await place.provision(SECOND);
  const files = () =>
    listObjects(join(place.folder, 'notes')).find(({ object }) => object === objectIdOf(SECOND.scope));
  expect(files()?.databases).toHaveLength(2);
  expect((await place.manage('delete-scope', SECOND)).status).toBe(200);
  expect(files()?.databases).toEqual([`${objectIdOf(SECOND.scope)}.sqlite`]);
  expect([await place.runtime.running('notes', SECOND.scope), place.forgotten]).toEqual([
    null,
    [SECOND.scope],
  ]);
  // It may be asked for again, after a crash in between.
  const again = await place.manage('delete-scope', SECOND);
  expect([again.status, await again.json()]).toMatchObject([404, { reason: 'unknown_scope' }]);
  expect(place.forgotten).toHaveLength(2);
});
