/**
 * A deployed vertical: a request against the same vertical as a worker of its own and compiled in; starts; memory; a
 * deployment. The request asks who one is, signed out, which the tenant's identity directory judges.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeApp } from '@freehold/app';
import { bundleApp, bundleWorker } from '@freehold/app/worker/bundle';
import { makeIdentityDirectory } from '@freehold/auth';
import { MANAGED_SCOPE_HEADER, MANAGED_TENANT_HEADER, PLATFORM_SECRET_HEADER } from '@freehold/contracts';
import { declaredMigrations } from '@freehold/directory';
import { openNodeEngine } from '@freehold/engine-node';
import { makeScopeUnit, makeUnitVault, makeVaultUnit } from '@freehold/kernel';
import rental from '@freehold/rental';
import { type PlatformPorts, type Upload, WorkerdRuntime } from '@freehold/runtime-workerd';
import { makeKeyring } from '@freehold/store';
import { Pool } from 'undici';
import { NODE_ASSERTION_HEADER, type NodeClaims } from '../packages/app/src/worker/node-assertion.ts';
import { startWorkerd } from '../tests/support/workerd-process.ts';
import { makeNodeSigner } from '../tests/workerd-vertical/router.ts';
import { compareRounds, type Row } from './harness.ts';

const SECRET = 's'.repeat(40);
const TENANT = 'tnt_00000000000000000000000001';
const SCOPE = 'scp_00000000000000000000000001';
const ORIGIN = 'http://shop.localhost';
const CONCURRENT = 8;
const SECONDS = 2;
const PATH = '/api/me';
const SETTINGS = { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: 'https://issuer.example', OIDC_AUDIENCE: 'bench' };
/** Parts of the time of one deployment until its version serves, and of starts. */
const SERVED_MS = 2_000;

const node = {
  tenant: TENANT,
  scope: SCOPE,
  vertical: 'rental',
  version: '0.1.0',
  surface: 'app',
  origin: ORIGIN,
};

function provisioning(): Request {
  return new Request('http://vertical.internal/internal/provision', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      [PLATFORM_SECRET_HEADER]: SECRET,
      [MANAGED_TENANT_HEADER]: TENANT,
      [MANAGED_SCOPE_HEADER]: SCOPE,
    },
    body: JSON.stringify({ tenantId: TENANT, scopeId: SCOPE, name: 'Shop' }),
  });
}

async function requireOk(response: Response): Promise<void> {
  const text = await response.text();
  if (!response.ok) throw new Error(`expected an answer, got ${response.status}: ${text}`);
}

export async function benchRuntime(directory: string): Promise<Row[]> {
  const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
  const onIncident = (error: unknown): void => {
    throw error;
  };
  const engine = openNodeEngine({ dataDirectory: join(directory, 'data'), onIncident });
  const vaultUnit = makeVaultUnit(makeKeyring(['k'.repeat(43)]));
  const vault = makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true }));
  const ports: PlatformPorts = {
    verticalOf: async () => 'rental',
    nameOf: async () => 'Shop',
    signInBindings: () => SETTINGS,
    settingsOf: async () => ({ settings: SETTINGS, platformSecret: [SECRET] }),
    secretsOf: async () => ({}),
    engine,
    identity: makeIdentityDirectory(),
    vault,
    blobs: null,
    mailer: null,
    issuerFetch: fetch,
    modelFetch: fetch,
    isModelProvider: () => false,
    modelSecret: () => null,
    egressPolicy: async () => ({ mode: 'observe', hosts: [] }),
    onLines: () => undefined,
  };
  const runtime = new WorkerdRuntime({
    folder: join(directory, 'runtime'),
    engine,
    ports,
    now: Date.now,
    onIncident,
    onFault: ({ detail }) => onIncident(new Error(detail)),
  });
  const root = fileURLToPath(new URL('../examples/rental', import.meta.url));
  const own = makeScopeUnit(rental.vertical).migrations.filter(({ guarded }) => guarded);

  const begunMs = performance.now();
  const modules = await bundleApp({ root, entry: join(root, 'src/app.ts') });
  await runtime.upload(
    {
      vertical: 'rental',
      version: '0.1.0',
      script: 'rental--0.1.0',
      manifest: rental.manifest,
      migrations: declaredMigrations(own),
      egress: [],
      modules,
    },
    () => undefined,
  );
  await runtime.serve({ vertical: 'rental', archiveScript: 'rental--0.1.0' });
  await requireOk(await runtime.manage('rental', provisioning()));
  const deployMs = performance.now() - begunMs;
  const deployed = async (): Promise<void> =>
    requireOk(await runtime.fetch('rental', new Request(`${ORIGIN}${PATH}`), node, null));
  await deployed();
  const [{ pid } = { pid: null }] = runtime.processes();
  const memoryMib = residentMib(pid as number);

  const againMs = await timed(async () => {
    const bundled = await bundleApp({ root, entry: join(root, 'src/app.ts') });
    const sent = bundled.map(({ bytes, ...module }) => {
      const isMain = module.name === 'main.js';
      // A save that changes the source, and nothing of the packages.
      return isMain
        ? { ...module, digest: undefined, bytes: Buffer.concat([bytes, Buffer.from('//')]) }
        : module;
    });
    const named = { vertical: 'rental', version: '0.2.0', script: 'rental--0.2.0' };
    const declared = { manifest: rental.manifest, migrations: declaredMigrations(own), egress: [] };
    await runtime.upload({ ...named, ...declared, modules: sent as Upload['modules'] }, () => undefined);
    await runtime.serve({ vertical: 'rental', archiveScript: named.script });
    const { failure } = await runtime.move({ ...named, tenant: TENANT, scope: SCOPE });
    if (failure !== null) throw new Error(failure.detail);
    await deployed();
  });

  await runtime.end('rental');
  const coldMs = await timed(deployed);
  await runtime.restart('rental', SCOPE);
  const scopeMs = await timed(deployed);

  const compiled = makeApp(rental, {
    engine,
    vault,
    platformSecret: [SECRET],
    now: Date.now,
    random,
    fetch,
    onIncident,
  });
  await requireOk(await compiled.app.fetch(provisioning(), { ...SETTINGS, node: null }));
  const compiledIn = async (): Promise<void> =>
    requireOk(await compiled.app.fetch(new Request(`${ORIGIN}${PATH}`), { ...SETTINGS, node }));

  const signer = await makeNodeSigner();
  const config = readFileSync(
    new URL('../examples/fieldwork/worker/fieldwork.capnp', import.meta.url),
    'utf8',
  );
  const bare = await startWorkerd({
    config,
    bundle: (outfile) => bundleWorker(fileURLToPath(new URL('runtime-worker.ts', import.meta.url)), outfile),
    env: {
      PLATFORM_SECRET: SECRET,
      SEAL_KEY: 'k'.repeat(43),
      NODE_KEYS: JSON.stringify(signer.keys),
      ...SETTINGS,
    },
  });
  try {
    const pool = new Pool(bare.origin);
    const headers = {
      [NODE_ASSERTION_HEADER]: await signer.sign({ ...node, clientAddress: null } as unknown as NodeClaims),
    };
    const given = provisioning();
    await requireOk(
      await fetch(`${bare.origin}/internal/provision`, {
        method: 'POST',
        headers: given.headers,
        body: await given.text(),
      }),
    );
    const onBare = async (): Promise<void> => {
      const { statusCode, body } = await pool.request({ method: 'GET', path: PATH, headers });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`expected an answer, got ${statusCode}: ${text}`);
    };
    const rows = [
      await compareRounds(
        {
          name: 'deployed: who am I, signed out',
          against: 'the same vertical as a worker of its own, over its socket',
          ours: () => perSecond(deployed),
          peer: () => perSecond(onBare),
        },
        0.7,
      ),
      await compareRounds(
        {
          name: 'deployed: who am I, signed out',
          against: 'the same vertical compiled in, without a socket',
          ours: () => perSecond(deployed),
          peer: () => perSecond(compiledIn),
        },
        0.05,
      ),
      limit('deployed: from the source to the first instance', deployMs, SERVED_MS),
      limit('deployed: a later version, from the source until it serves', againMs, SERVED_MS),
      limit('deployed: first request of a process', coldMs, 1_000),
      limit('deployed: first request of an instance', scopeMs, 250),
      {
        name: 'deployed: memory of a process, one instance',
        against: '256 MiB',
        ours: memoryMib,
        peer: 256,
        ratio: memoryMib / 256,
        target: '≤ 1',
        met: memoryMib <= 256,
        shown: [`${Math.round(memoryMib)} MiB`, '256 MiB'] as const,
      },
    ];
    await pool.close();
    return rows;
  } finally {
    await bare.close();
    await runtime.close();
    await engine.close();
  }
}

function limit(name: string, tookMs: number, mostMs: number): Row {
  return {
    name,
    against: `${mostMs} ms`,
    ours: tookMs,
    peer: mostMs,
    ratio: tookMs / mostMs,
    target: '≤ 1',
    met: tookMs <= mostMs,
    shown: [`${Math.round(tookMs)} ms`, `${mostMs} ms`] as const,
  };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begunMs = performance.now();
  await work();
  return performance.now() - begunMs;
}

async function perSecond(work: () => Promise<void>): Promise<number> {
  const untilMs = performance.now() + SECONDS * 1_000;
  let done = 0;
  await Promise.all(
    Array.from({ length: CONCURRENT }, async () => {
      for (; performance.now() < untilMs; done++) await work();
    }),
  );
  return done / SECONDS;
}

function residentMib(pid: number): number {
  const [, kib = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1_024;
}
