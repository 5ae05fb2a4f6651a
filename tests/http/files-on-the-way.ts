/**
 * Prints which of our own source files run a function in one warm `POST /tenants`, as JSON: a program of its own,
 * because precise coverage counts a whole process. Workers of the engine have coverage of their own and are not counted.
 */
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { Caller } from '../support/http.ts';
import { openEmbeddedPlatform } from './embedded-platform.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface Counted {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
}

await using running = await openEmbeddedPlatform();
using caller = new Caller();
const url = `http://api.localhost:${running.place.port}/tenants`;

async function createTenant(slug: string): Promise<void> {
  const { status } = await caller.ask(url, {
    headers: { authorization: `Bearer ${running.token}`, 'idempotency-key': slug },
    json: { slug, name: slug },
  });
  if (status !== 201) throw new Error(`POST /tenants answered ${status}`);
}

for (let call = 0; call < 20; call++) await createTenant(`warm-${call}`);

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** Our own files of which a function ran in one request. */
async function filesOf(slug: string): Promise<string[]> {
  // What ran by itself since the last request is taken away first.
  await session.post('Profiler.takePreciseCoverage');
  await createTenant(slug);
  const { result } = (await session.post('Profiler.takePreciseCoverage')) as { result: readonly Counted[] };
  const files = result
    .filter(({ url }) => url.startsWith('file://') && !url.includes('/node_modules/'))
    .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .map(({ url }) => fileURLToPath(url).slice(root.length));
  return files.filter((file) => /^(packages|apps|examples)\//.test(file));
}

// What runs by itself beside one of the requests is not on the way of all of them.
let onTheWay = await filesOf('counted-0');
for (let call = 1; call < 5; call++) {
  const again = await filesOf(`counted-${call}`);
  onTheWay = onTheWay.filter((file) => again.includes(file));
}
await session.post('Profiler.stopPreciseCoverage');
session.disconnect();
process.stdout.write(`${JSON.stringify(onTheWay.sort())}\n`);
