/** The variables of a bundle's modules: shared by all instances, or by those of a tenant, as its declaration says. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { notes } from './bundles/plain.ts';
import { ACME, BOLT, type Instance, openPlace, type Place, SECOND } from './place.ts';

let place: Place;

/** Answers with the number of requests that its module has seen. */
const bundleOf = (version: string, isolate: string): string => `
  import { hostedApp } from '@freehold/app/worker/hosted';
  import { notes } from './plain.ts';
  const { Instance: Plain, Declaration } = hostedApp({ ...notes('${version}', []), ${isolate} });
  export { Declaration };
  let requests = 0;
  export class Instance extends Plain {
    async fetch() {
      requests += 1;
      return new Response(String(requests));
    }
  }`;

beforeAll(async () => {
  place = openPlace({ vertical: 'notes' });
}, 60_000);

afterAll(() => place.close());

async function deploy(version: string, isolate: string): Promise<string> {
  const script = await place.upload(notes(version, []), bundleOf(version, isolate));
  await place.runtime.serve({ vertical: 'notes', archiveScript: script });
  return script;
}

async function counts(): Promise<string[]> {
  const said: string[] = [];
  for (const instance of [ACME, SECOND, BOLT]) said.push(await (await place.visit('/', instance)).text());
  return said;
}

const moveAll = (script: string): Promise<unknown> =>
  Promise.all(
    [ACME, SECOND, BOLT].map(({ tenant, scope }: Instance) =>
      place.runtime.move({ vertical: 'notes', tenant, scope, script }),
    ),
  );

test('all instances of a version share them, unless it asks for an isolate for each tenant', async () => {
  const shared = await deploy('1.0.0', '');
  expect(await counts()).toEqual(['1', '2', '3']);
  const apart = await deploy('1.1.0', "isolate: 'tenant'");
  await moveAll(apart);
  // Two instances of one tenant, and one of another.
  expect(await counts()).toEqual(['1', '2', '1']);
  // The first version left memory with the last instance that ran it, and begins anew.
  await moveAll(shared);
  expect(await counts()).toEqual(['1', '2', '3']);
  await moveAll(apart);
  // The platform reads it again after a start.
  await place.reopen();
  expect(await counts()).toEqual(['1', '2', '1']);
}, 60_000);

test('more cold tenants at once than there is memory for: some are asked to come again, and the process goes on', async () => {
  const tenants = Array.from({ length: 24 }, (_, n): Instance => {
    const id = String(100 + n).padStart(26, '0');
    return { tenant: `tnt_${id}`, scope: `scp_${id}` };
  });
  const small = openPlace({
    vertical: 'notes',
    instances: tenants,
    limits: { fullMib: 900, memoryMib: 1_200, roomMs: 500 },
  });
  try {
    const script = await small.upload(notes('1.0.0', []), bundleOf('1.0.0', "isolate: 'tenant'"));
    await small.runtime.serve({ vertical: 'notes', archiveScript: script });
    const answers = await Promise.all(tenants.map((of) => small.visit('/', of)));
    const said = await Promise.all(
      answers.map(async (each) => [each.status, each.headers.get('retry-after'), await each.text()]),
    );
    const served = said.filter(([status]) => status === 200);
    expect(served.every(([, , text]) => text === '1')).toBe(true);
    expect(said.filter(([status]) => status !== 200)).toEqual(
      Array.from({ length: tenants.length - served.length }, () => [
        503,
        '10',
        expect.stringContaining('"reason":"memory_full"'),
      ]),
    );
    expect([served.length > 0, served.length < tenants.length]).toEqual([true, true]);
    // The process that served the first of them is still the same one.
    expect(small.faults).toEqual([]);
    expect(await (await small.visit('/', tenants[0] as Instance)).text()).toBe('2');
  } finally {
    await small.close();
  }
}, 60_000);
