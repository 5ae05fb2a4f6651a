/** The other side of `telemetry.ts`, on a thread of its own: a collector that takes everything, and callers of the platform. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort } from 'node:worker_threads';
import { Pool } from 'undici';

/** An order: calls to this address for some time. */
export interface Calls {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
  readonly callers: number;
  readonly ms: number;
}

const collector = createServer((request, response) => request.resume().on('end', () => response.end()));
collector.listen(0, '127.0.0.1', () => parentPort?.postMessage((collector.address() as AddressInfo).port));

const pools = new Map<string, Pool>();

parentPort?.on('message', async ({ origin, host, path, callers, ms }: Calls) => {
  const pool = pools.get(origin) ?? new Pool(origin, { connections: callers });
  pools.set(origin, pool);
  const untilMs = performance.now() + ms;
  let done = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (; performance.now() < untilMs; done++) {
        const { statusCode, body } = await pool.request({ method: 'GET', path, headers: { host } });
        const text = await body.text();
        if (statusCode !== 200) throw new Error(`expected an answer, got ${statusCode}: ${text}`);
      }
    }),
  );
  parentPort?.postMessage(done);
});
