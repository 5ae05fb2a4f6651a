/** A copy of 1 GiB: made, restored and compared, while the other instances of its process are served. */
import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import { MANAGED_SCOPE_HEADER, MANAGED_TENANT_HEADER } from '@freehold/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { notes } from './bundles/plain.ts';
import { ACME, BOLT, type Instance, openPlace, type Place, SECOND } from './place.ts';

const MIB = 1_024 * 1_024;
const BYTES = 1_024 * MIB;
/** Of its own: the pages of the program are shared by all processes. */
const PROCESS_BYTES_MAX = 300 * 1_000_000;
/** The growth of the platform's own process: a test has more in it than a platform. */
const GROWTH_BYTES_MAX = 100 * 1_000_000;

const BUNDLE = `import { hostedApp } from '@freehold/app/worker/hosted';
import { notes } from './plain.ts';
const { Instance: Plain, Declaration } = hostedApp(notes('1.0.0', []));
export { Declaration };
export class Instance extends Plain {
  async fetch(request) {
    const { sql } = this.ctx.storage;
    const { pathname } = new URL(request.url);
    if (pathname === '/version') return new Response('1.0.0');
    if (pathname === '/bytes') return new Response(String(sql.exec('SELECT total(length(text)) AS n FROM notes').one().n));
    if (pathname !== '/fill') return super.fetch(request);
    for (let row = 0; row < 64; row++)
      sql.exec('INSERT INTO notes VALUES (lower(hex(randomblob(12))), hex(randomblob(32768)))');
    return new Response();
  }
}`;

let place: Place;

beforeAll(async () => {
  place = openPlace({ vertical: 'notes' });
  await place.runtime.serve({
    vertical: 'notes',
    archiveScript: await place.upload(notes('1.0.0', []), BUNDLE),
  });
  for (const instance of [ACME, SECOND, BOLT]) await place.provision(instance);
}, 60_000);
afterAll(() => place.close());

function managed(path: string, { tenant, scope }: Instance, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set(MANAGED_TENANT_HEADER, tenant);
  headers.set(MANAGED_SCOPE_HEADER, scope);
  const query = new URLSearchParams({ tenantId: tenant, scopeId: scope, format: 'ndjson' });
  const request = new Request(`http://vertical.internal/internal/${path}?${query}`, { ...init, headers });
  return place.runtime.manage('notes', request);
}

/** Exports an instance to a file. Returns the digests of the rows of its tables. */
async function exportTo(file: string, of: Instance): Promise<Record<string, string>> {
  const { status, body } = await managed('export', of);
  expect(status).toBe(200);
  await pipeline(Readable.fromWeb(body as unknown as NodeStream), createWriteStream(file));
  const handle = await open(file);
  try {
    for await (const line of handle.readLines({ autoClose: false })) {
      const { tables } = JSON.parse(line) as { tables: { name: string; sha256: string }[] };
      return Object.fromEntries(tables.map(({ name, sha256 }) => [name, sha256]));
    }
    throw new Error('the copy is empty');
  } finally {
    await handle.close();
  }
}

const memoryOfProcess = (): number => {
  const [{ pid } = { pid: null }] = place.runtime.processes();
  return pid === null
    ? 0
    : Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;
};

test('a copy of 1 GiB is made, restored and the same, and the others are served', async () => {
  for (let bytes = 0; bytes < BYTES; bytes += 4 * MIB) await place.visit('/fill', ACME);
  const before = process.memoryUsage().rss;
  let most = before;
  let mostOfProcess = 0;
  let longestMs = 0;
  let isOver = false;
  const others = (async () => {
    while (!isOver) {
      const began = performance.now();
      expect(await (await place.visit('/version', BOLT)).text()).toBe('1.0.0');
      longestMs = Math.max(longestMs, performance.now() - began);
      most = Math.max(most, process.memoryUsage().rss);
      mostOfProcess = Math.max(mostOfProcess, memoryOfProcess());
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  const [file, again] = [join(place.folder, 'one.ndjson'), join(place.folder, 'two.ndjson')];
  const { notes: digest } = await exportTo(file, ACME);
  const restored = await managed('restore', SECOND, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: Readable.toWeb(createReadStream(file)) as unknown as ReadableStream,
    duplex: 'half',
  } as RequestInit);
  const said = [restored.status, await restored.json()];
  // The cause is sent a moment later.
  if (!restored.ok) await new Promise((resolve) => setTimeout(resolve, 5_000));
  const causes = [...place.lines.filter(({ kind }) => kind === 'failed'), ...place.faults];
  expect([...said, causes]).toMatchObject([200, { format: 'ndjson' }, []]);
  expect(await (await place.visit('/bytes', SECOND)).text()).toBe(String(BYTES));
  expect((await exportTo(again, SECOND)).notes).toBe(digest);
  isOver = true;
  await others;
  const figures = `workerd ${mostOfProcess} B, platform +${most - before} B, longest wait ${Math.round(longestMs)} ms`;
  process.stdout.write(`${figures}\n`);
  expect(place.faults).toEqual([]);
  expect(mostOfProcess).toBeLessThan(PROCESS_BYTES_MAX);
  expect(most - before).toBeLessThan(GROWTH_BYTES_MAX);
}, 3_600_000);
