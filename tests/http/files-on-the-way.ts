/**
 * Prints which of our own source files run a function in one warm request, for each of the three requests of house
 * rule 5, as JSON: a program of its own, because precise coverage counts a whole process. Workers of the engine have
 * coverage of their own and are not counted. `--functions` adds how many functions ran in each file.
 */
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { Caller } from '../support/http.ts';
import { signIn } from '../support/sign-in.ts';
import { openEmbeddedPlatform } from './embedded-platform.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const WARM_CALLS = 20;
const COUNTED_CALLS = 5;

interface Counted {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
}

await using running = await openEmbeddedPlatform();
using staff = new Caller();
using ada = new Caller();
await signIn(ada, running.app, 'ada');

type Request = (name: string) => Promise<{ readonly status: number }>;

const requests: Record<string, Request> = {
  'POST /tenants': (name) =>
    staff.ask(`http://api.localhost:${running.place.port}/tenants`, {
      headers: { authorization: `Bearer ${running.token}`, 'idempotency-key': name },
      json: { slug: name, name },
    }),
  'POST /api/customers': (name) =>
    ada.ask(`${running.app}/api/customers`, {
      method: 'POST',
      headers: { origin: running.app },
      json: { name },
    }),
  'GET /api/customers': () => ada.ask(`${running.app}/api/customers`),
};

async function send(request: Request, name: string): Promise<void> {
  const { status } = await request(name);
  if (status >= 300) throw new Error(`${name}: ${status}`);
}

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** Returns our own files of which a function ran in one request, and how many functions of each. */
async function filesOf(request: Request, name: string): Promise<Map<string, number>> {
  // Drops the coverage of background work since the last request.
  await session.post('Profiler.takePreciseCoverage');
  await send(request, name);
  const { result } = (await session.post('Profiler.takePreciseCoverage')) as { result: readonly Counted[] };
  const files = result
    .filter(({ url }) => url.startsWith('file://') && !url.includes('/node_modules/'))
    .map(({ url, functions }): [string, number] => [
      fileURLToPath(url).slice(root.length),
      functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).length,
    ])
    .filter(([file, count]) => count > 0 && /^(packages|apps|examples)\//.test(file));
  return new Map(files);
}

const onTheWay: Record<string, readonly string[]> = {};
for (const [title, request] of Object.entries(requests)) {
  for (let call = 0; call < WARM_CALLS; call++) await send(request, `warm-${call}`);
  // Background work beside one request is not on the way of all of them.
  let common = await filesOf(request, 'counted-0');
  for (let call = 1; call < COUNTED_CALLS; call++) {
    const again = await filesOf(request, `counted-${call}`);
    common = new Map([...common].filter(([file]) => again.has(file)));
  }
  const named = [...common].sort(([a], [b]) => (a < b ? -1 : 1));
  onTheWay[title] = process.argv.includes('--functions')
    ? named.map(([file, count]) => `${count} ${file}`)
    : named.map(([file]) => file);
}
await session.post('Profiler.stopPreciseCoverage');
session.disconnect();
process.stdout.write(`${JSON.stringify(onTheWay)}\n`);
