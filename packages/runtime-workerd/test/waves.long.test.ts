/** Moves that a killed process cuts off. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { notes } from './bundles/plain.ts';
import { ACME, BOLT, type Instance, openPlace, type Place, SECOND } from './place.ts';

type Migrations = Parameters<typeof notes>[1];

const ALL = [ACME, SECOND, BOLT];

let place: Place;
let migrations: Migrations = [];
let number = 0;

beforeAll(async () => {
  place = openPlace({ vertical: 'notes' });
  await deploy();
  for (const instance of ALL) expect((await place.provision(instance)).status).toBe(200);
}, 60_000);
afterAll(() => place.close());

/** Answers its version at `/version`; a POST of `/write` inserts a row, after a while. */
const bundleOf = (version: string): string => `
  import { hostedApp } from '@freehold/app/worker/hosted';
  import { notes } from './plain.ts';
  const { Instance: Plain, Declaration } = hostedApp(notes('${version}', ${JSON.stringify(migrations)}));
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

/** Deploys the next version. Returns its script. */
async function deploy({ migrates = false } = {}): Promise<string> {
  number += 1;
  if (migrates) {
    const sql = `CREATE TABLE t${number} (name TEXT PRIMARY KEY) STRICT`;
    migrations = [...migrations, { version: migrations.length + 2, name: `table ${number}`, sql }];
  }
  const version = `1.${number}.0`;
  const script = await place.upload(notes(version, migrations), bundleOf(version));
  await place.runtime.serve({ vertical: 'notes', archiveScript: script });
  return script;
}

const move = (script: string, { tenant, scope }: Instance) =>
  place.runtime.move({ vertical: 'notes', tenant, scope, script });
const textOf = async (path: string, of: Instance): Promise<string> => (await place.visit(path, of)).text();
const rowsOf = async (of: Instance) => (await (await place.visit('/rows', of)).json()) as string[];

test('a wave whose process dies leaves each scope at one version, whole, and goes on', async () => {
  for (let round = 0; round < 6; round++) {
    for (const of of ALL) await place.visit(`/write?text=row+${round}`, of, { method: 'POST' });
    const rows = await Promise.all(ALL.map(rowsOf));
    expect(rows.map(({ length }) => length)).toEqual([round + 1, round + 1, round + 1]);
    const before = `1.${number}.0`;
    const script = await deploy({ migrates: true });
    const after = `1.${number}.0`;
    const moving = Promise.allSettled(ALL.map((of) => move(script, of)));
    await new Promise((resolve) => setTimeout(resolve, round * 40));
    const [{ pid } = { pid: null }] = place.runtime.processes();
    if (pid !== null) process.kill(pid, 'SIGKILL');
    await moving;
    for (const [index, of] of ALL.entries()) {
      await expect.poll(() => textOf('/version', of).catch(() => null), { timeout: 30_000 }).toMatch(/^1\./);
      expect([before, after]).toContain(await textOf('/version', of));
      expect(await rowsOf(of)).toEqual(rows[index]);
    }
    // The same wave again, by a platform that started anew: a process that dies often is put off.
    await place.reopen();
    for (const of of ALL) {
      expect((await move(script, of)).failure).toBeNull();
      expect([await textOf('/version', of), await rowsOf(of)]).toEqual([after, rows[ALL.indexOf(of)]]);
    }
  }
}, 600_000);
