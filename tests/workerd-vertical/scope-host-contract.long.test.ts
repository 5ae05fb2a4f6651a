/**
 * The contract of scopes by a vertical in a workerd process of its own, over sockets (spec D-01, D-05): the library as
 * a plain worker, with scopes and vault in durable objects on disk. The management contract goes through
 * `VerticalClient`; the rest (the scope's own methods, operations, attachments, snapshots, erasure) through a channel
 * of the test worker, because no vertical publishes it. All sections run. Reopening kills the process and starts
 * another one.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fromFailure, type VerticalScopeHost } from '@freehold/contracts';
import type { ScopeHost, ScopeStub } from '@freehold/kernel';
import { makeVerticalClient } from '@freehold/vertical-host/client';
import { afterAll, beforeAll } from 'vitest';
import { bundleWorker } from '../../packages/app/src/worker/bundle.ts';
import { describeScopeHost, recordIncident } from '../../packages/testkit/src/scope-contract/index.ts';
import { startWorkerd, type WorkerdProcess } from '../support/workerd-process.ts';
import { type RunningBucket, startBucket } from './bucket.ts';
import type { LibraryBindings } from './library-application.ts';
import {
  CHANNEL_PATH,
  type ChannelAnswer,
  type ChannelCall,
  CLOCK_PATH,
  type ClockSetting,
  INCIDENTS_HEADER,
  pack,
  type ReportedIncident,
  unpack,
} from './library-channel.ts';

const PLATFORM_SECRET = 'the platform secret of these tests';
const here = (name: string): string => fileURLToPath(import.meta.resolve(name));

let bucket: RunningBucket;
let workerd: WorkerdProcess;
/** The offset of the scopes' clock. It only grows, so that stored times are never in the future. */
let aheadMs = 0;

beforeAll(async () => {
  bucket = await startBucket();
  workerd = await startWorkerd({
    config: readFileSync(here('./library.capnp'), 'utf8'),
    bundle: (outfile) => bundleWorker(here('./library-worker.js'), outfile),
    env: { PLATFORM_SECRET, BUCKET_URL: bucket.url } satisfies LibraryBindings,
  });
}, 120_000);

afterAll(async () => {
  await workerd?.close();
  await bucket?.close();
});

/** Calls the worker. Its unexpected errors are recorded as if they had happened here. */
async function ask(request: Request): Promise<Response> {
  const response = await fetch(request);
  const incidents = JSON.parse(
    decodeURIComponent(response.headers.get(INCIDENTS_HEADER) ?? '%5B%5D'),
  ) as ReportedIncident[];
  for (const { error, method } of incidents) recordIncident(error, { kind: 'library', key: '', method });
  return response;
}

async function post<T>(path: string, body: unknown): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const request = new Request(workerd.origin + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await (await ask(request)).json()) as T;
}

async function setClock(): Promise<void> {
  await post(CLOCK_PATH, { aheadMs } satisfies ClockSetting);
}

async function call(member: string, ...args: readonly unknown[]): Promise<unknown> {
  const asked: ChannelCall = { member, args: await Promise.all(args.map(pack)) };
  const answer = await post<ChannelAnswer>(CHANNEL_PATH, asked);
  if (!answer.ok) throw fromFailure(answer.failure);
  return unpack(answer.value);
}

/** Makes an object whose every member is a call through the channel. */
function channelled<T>(member: (name: string) => (...args: readonly never[]) => Promise<unknown>): T {
  return new Proxy({} as T & object, {
    // An `await` by mistake must not take it for a promise.
    get: (_target, name) => (typeof name === 'string' && name !== 'then' ? member(name) : undefined),
  });
}

type Beyond = Omit<ScopeHost, keyof VerticalScopeHost>;

const beyondTheContract: Beyond = {
  scope: (scopeId) => channelled<ScopeStub>((method) => (input) => call('scope', scopeId, method, input)),
  operations: (scopeId, principal) => ({
    invoke: (request) => call('operations', scopeId, principal, request) as never,
  }),
  attachments: channelled(
    (name) =>
      (...args) =>
        call(`attachments.${name}`, ...args),
  ),
  listSnapshotsLocal: (ref) => call('listSnapshotsLocal', ref) as never,
  openSnapshotLocal: (ref) => call('openSnapshotLocal', ref) as never,
  deleteSnapshotLocal: (ref) => call('deleteSnapshotLocal', ref) as never,
  examineCopyLocal: async (ref, body) => call('examineCopyLocal', ref, body) as never,
  retryDeadLetterLocal: (ref) => call('retryDeadLetterLocal', ref) as never,
  shredSubjectLocal: (ref) => call('shredSubjectLocal', ref) as never,
  projectEntitlementsLocal: (ref, projection) => call('projectEntitlementsLocal', ref, projection) as never,
};

describeScopeHost({
  name: 'VerticalClient over HTTP to workerd',
  isRemote: true,
  capabilities: {
    copies: ['ndjson'],
    rewind: { missing: 'the runtime keeps no history of its objects' },
    inspect: true,
    attachments: true,
  },
  open: async () => {
    // Incidents of the test before this one do not belong to this one.
    await fetch(workerd.origin);
    const client = makeVerticalClient({
      baseUrl: workerd.origin,
      platformSecret: PLATFORM_SECRET,
      fetch: ask,
    });
    const host: ScopeHost = { ...client, ...beyondTheContract };
    return {
      host,
      pass: (ms) => {
        aheadMs += ms;
        return setClock();
      },
      reopen: async () => {
        await workerd.kill();
        await workerd.start();
        await setClock();
        return host;
      },
    };
  },
});
