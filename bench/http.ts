/**
 * The same operation over HTTP: ours through the operation routes, against a plain `node:http` server that runs the
 * same SQL with one durable commit a request. Each server is a process of its own.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import autocannon from 'autocannon';
import type { Row } from './harness.ts';

const SECONDS = 3;
const ROUNDS = 3;

export async function benchHttp(directory: string): Promise<Row[]> {
  const ours = await startServer('ours', directory);
  const bare = await startServer('bare', directory);
  try {
    return [
      await compareOverHttp({
        name: 'invoke over HTTP, 64 connections',
        connections: 64,
        atLeast: 0.6,
        ours: ours.url,
        bare: bare.url,
      }),
      await compareOverHttp({
        name: 'invoke over HTTP, one connection',
        connections: 1,
        atLeast: 0.4,
        ours: ours.url,
        bare: bare.url,
      }),
    ];
  } finally {
    ours.child.kill();
    bare.child.kill();
  }
}

async function compareOverHttp({
  name,
  connections,
  atLeast,
  ours,
  bare,
}: {
  readonly name: string;
  readonly connections: number;
  readonly atLeast: number;
  readonly ours: string;
  readonly bare: string;
}): Promise<Row> {
  const rounds: { readonly ours: number; readonly bare: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({
      ours: await requestsPerSecond(ours, connections),
      bare: await requestsPerSecond(bare, connections),
    });
  }
  const middle = rounds.sort((a, b) => a.ours / a.bare - b.ours / b.bare)[Math.floor(ROUNDS / 2)] as {
    ours: number;
    bare: number;
  };
  const ratio = middle.ours / middle.bare;
  return {
    name,
    against: 'node:http and the same SQL, one commit a request',
    ours: middle.ours,
    peer: middle.bare,
    ratio,
    target: `at least ${atLeast}×`,
    met: ratio >= atLeast,
  };
}

async function requestsPerSecond(url: string, connections: number): Promise<number> {
  const result = await autocannon({
    url,
    connections,
    duration: SECONDS,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'a short note' }),
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} refusals, ${result.errors} errors`);
  return result.requests.average;
}

async function startServer(
  kind: 'ours' | 'bare',
  directory: string,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = fork(join(import.meta.dirname, 'http-server.ts'), [kind, directory]);
  const [{ url }] = (await once(child, 'message')) as [{ readonly url: string }];
  return { child, url };
}
