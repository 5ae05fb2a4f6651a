/** The supervisor of a scope: its alarm, and moves that meet a start or a crash. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { earliestAlarm } from '../src/process/alarms.ts';
import { notes } from './bundles/plain.ts';
import { ACME, BOLT, openPlace, type Place, SECOND } from './place.ts';

const TAGS = { version: 2, name: 'tags', sql: 'CREATE TABLE tags (name TEXT PRIMARY KEY) STRICT' };
const HOUR_MS = 3_600_000;

let place: Place;
let settingsMs = 0;

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
