/** Many deployments under load, and many tenants with isolates of their own: neither fills a process so that requests fail. */
import { afterEach, expect, test } from 'vitest';
import { notes } from './bundles/plain.ts';
import { ACME, BOLT, type Instance, openPlace, type Place, SECOND } from './place.ts';

type Migrations = Parameters<typeof notes>[1];

const DEPLOYMENTS = 50;
const TENANTS = 30;
/** The tenants that are used at the same time. */
const USED = 5;

let place: Place;
afterEach(() => place.close());

/** Answers its version at `/version`; a POST of `/write` inserts a row, after a while. */
const bundleOf = (version: string, migrations: Migrations, isolate = ''): string => `
  import { hostedApp } from '@freehold/app/worker/hosted';
  import { notes } from './plain.ts';
  const app = notes('${version}', ${JSON.stringify(migrations)});
  const { Instance: Plain, Declaration } = hostedApp({ ...app, ${isolate} });
  export { Declaration };
  export class Instance extends Plain {
    async fetch(request) {
      const { sql } = this.ctx.storage;
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === '/version') return new Response('${version}');
      if (pathname === '/rows')
        return Response.json(sql.exec('SELECT text FROM notes ORDER BY text').toArray().map(({ text }) => text));
      if (pathname !== '/write') return super.fetch(request);
      await new Promise((resolve) => setTimeout(resolve, 30));
      sql.exec('INSERT INTO notes VALUES (lower(hex(randomblob(12))), ?)', searchParams.get('text'));
      return new Response('${version}');
    }
  }`;

async function deploy(version: string, migrations: Migrations, isolate = ''): Promise<string> {
  const script = await place.upload(notes(version, migrations), bundleOf(version, migrations, isolate));
  await place.runtime.serve({ vertical: 'notes', archiveScript: script });
  return script;
}

const textOf = async (path: string, of: Instance): Promise<string> => (await place.visit(path, of)).text();
const pause = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));
const pids = () => place.runtime.processes().map(({ pid }) => pid);

test(`${DEPLOYMENTS} deployments under load, without one failed request, and each write is there`, async () => {
  place = openPlace({ vertical: 'notes' });
  const all = [ACME, SECOND, BOLT];
  await deploy('1.0.0', []);
  for (const instance of all) expect((await place.provision(instance)).status).toBe(200);
  const before = pids();
  let migrations: Migrations = [];
  let isOver = false;
  let asked = 0;
  const failed: string[] = [];
  const written = new Map(all.map((of) => [of, [] as string[]]));
  /** Asks an instance again and again: its version never goes back. */
  const load = async (of: Instance, path: (turn: number) => string, init: RequestInit = {}) => {
    let newest = 0;
    for (let turn = 0; !isOver; turn++) {
      asked += 1;
      const answered = await place.visit(path(turn), of, init).catch(String);
      const said = typeof answered === 'string' ? answered : await answered.text();
      const version = Number(/^1\.(\d+)\.0$/.exec(said)?.[1] ?? -1);
      if (version < newest) failed.push(said);
      else newest = version;
      if (init.method === 'POST' && version >= 0) written.get(of)?.push(`row ${turn}`);
      await pause(10);
    }
  };
  const loads = all.flatMap((of) => [
    load(of, () => '/version'),
    load(of, () => '/version'),
    load(of, (turn) => `/write?text=row+${turn}`, { method: 'POST' }),
  ]);
  try {
    for (let n = 1; n <= DEPLOYMENTS; n++) {
      const table = { name: `table ${n}`, sql: `CREATE TABLE t${n} (name TEXT PRIMARY KEY) STRICT` };
      if (n % 5 === 0) migrations = [...migrations, { version: migrations.length + 2, ...table }];
      const script = await deploy(`1.${n}.0`, migrations);
      const order = { vertical: 'notes', script };
      const moved = await Promise.all(
        all.map(({ tenant, scope }) => place.runtime.move({ ...order, tenant, scope })),
      );
      expect(moved.map(({ failure }) => failure)).toEqual([null, null, null]);
    }
  } finally {
    isOver = true;
    await Promise.all(loads);
  }
  process.stdout.write(`${asked} requests\n`);
  expect([failed, place.faults]).toEqual([[], []]);
  // Versions that no instance runs left memory: the process need not be replaced.
  expect(pids()).toEqual(before);
  for (const of of all) {
    expect(await textOf('/version', of)).toBe(`1.${DEPLOYMENTS}.0`);
    expect(JSON.parse(await textOf('/rows', of))).toEqual(written.get(of)?.toSorted());
  }
}, 1_200_000);

test(`${TENANTS} tenants with isolates of their own, ${USED} at a time, without one failed request`, async () => {
  const tenants = Array.from({ length: TENANTS }, (_, n): Instance => {
    const id = String(100 + n).padStart(26, '0');
    return { tenant: `tnt_${id}`, scope: `scp_${id}` };
  });
  place = openPlace({ vertical: 'notes', instances: tenants });
  await deploy('1.0.0', [], "isolate: 'tenant'");
  const failed: string[] = [];
  for (let first = 0; first < TENANTS; first += USED) {
    const used = tenants.slice(first, first + USED);
    const untilMs = performance.now() + 12_000;
    await Promise.all(
      used.map(async (of) => {
        expect((await place.provision(of)).status).toBe(200);
        while (performance.now() < untilMs) {
          const said = await textOf('/version', of).catch(String);
          if (said !== '1.0.0') failed.push(said);
          await pause(20);
        }
      }),
    );
  }
  expect([failed, place.faults]).toEqual([[], []]);
}, 600_000);
