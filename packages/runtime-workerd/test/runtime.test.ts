/** A deployed vertical, end to end: uploaded, served by a process of its own, killed, moved. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeIdentityDirectory } from '@freehold/auth';
import { MANAGED_SCOPE_HEADER, MANAGED_TENANT_HEADER, PLATFORM_SECRET_HEADER } from '@freehold/contracts';
import { declaredMigrations } from '@freehold/directory';
import { openMemoryEngine } from '@freehold/engine-node';
import { makeScopeUnit, makeUnitVault, makeVaultUnit } from '@freehold/kernel';
import rental from '@freehold/rental';
import { makeKeyring } from '@freehold/store';
import { build, transform } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HostedLine, type ProcessFault, WorkerdRuntime } from '../src/index.ts';

const SECRET = 's'.repeat(40);
const TENANT = 'tnt_00000000000000000000000001';
const SCOPE = 'scp_00000000000000000000000001';
const folder = mkdtempSync(join(tmpdir(), 'freehold-runtime-'));
const faults: ProcessFault[] = [];
const incidents: unknown[] = [];
const lines: HostedLine[] = [];
let runtime: WorkerdRuntime;

async function bundleOf(entry: string): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`bundles/${entry}`, import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser', 'import'],
    mainFields: ['module', 'main'],
    external: ['node:crypto', 'cloudflare:workers'],
  });
  return (outputFiles[0] as { contents: Uint8Array }).contents;
}

beforeAll(async () => {
  const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
  const onIncident = (error: unknown): void => void incidents.push(error);
  const engine = openMemoryEngine({ now: Date.now, random, onIncident });
  const vaultUnit = makeVaultUnit(makeKeyring(['k'.repeat(43)]));
  runtime = new WorkerdRuntime({
    folder,
    engine,
    now: Date.now,
    onIncident,
    onFault: (fault) => void faults.push(fault),
    ports: {
      verticalOf: async ({ tenant, scope }) => (scope === SCOPE && tenant === TENANT ? 'rental' : null),
      nameOf: async () => 'Shop',
      signInBindings: () => ({ AUTH_PROVIDER: 'directory' }),
      settingsOf: async () => ({ settings: { AUTH_PROVIDER: 'directory' }, platformSecret: [SECRET] }),
      secretsOf: async () => ({}),
      engine,
      identity: makeIdentityDirectory(),
      vault: makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true })),
      blobs: null,
      mailer: { send: async () => undefined },
      issuerFetch: (url, init) => fetch(url, init),
      modelFetch: (url, init) => fetch(url, init),
      isModelProvider: () => false,
      modelSecret: () => null,
      egressPolicy: async () => ({ mode: 'observe', hosts: [] }),
      onLines: (_vertical, sent) => void lines.push(...sent),
    },
  });
});

afterAll(async () => {
  await runtime.close();
  rmSync(folder, { recursive: true, force: true });
});

const manage = (path: string, body: object): Promise<Response> =>
  runtime.manage(
    'rental',
    new Request(`http://vertical.internal/internal/${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        [PLATFORM_SECRET_HEADER]: SECRET,
        [MANAGED_TENANT_HEADER]: TENANT,
        [MANAGED_SCOPE_HEADER]: SCOPE,
      },
      body: JSON.stringify({ tenantId: TENANT, scopeId: SCOPE, ...body }),
    }),
  );

const node = {
  tenant: TENANT,
  scope: SCOPE,
  vertical: 'rental',
  version: '0.1.0',
  surface: 'app',
  origin: 'http://shop.localhost',
};

test('a vertical that the platform does not contain is deployed, provisioned and served', async () => {
  const own = makeScopeUnit(rental.vertical).migrations.filter(({ guarded }) => guarded);
  await runtime.upload(
    {
      vertical: 'rental',
      version: rental.manifest.version,
      script: 'rental--0.1.0',
      manifest: rental.manifest,
      migrations: declaredMigrations(own),
      egress: [],
      modules: [
        { name: 'main.js', mediaType: 'application/javascript+module', bytes: await bundleOf('rental.ts') },
      ],
    },
    () => undefined,
  );
  await runtime.serve({ vertical: 'rental', archiveScript: 'rental--0.1.0' });
  const provisioned = await manage('provision', { name: 'Shop' });
  expect([provisioned.status, await provisioned.json()]).toMatchObject([200, { status: 'provisioned' }]);
  const page = await runtime.fetch('rental', new Request('http://shop.localhost/api/me'), node, null);
  const body = await page.json();
  expect([page.status, body]).toMatchObject([200, { status: 'signed_out' }]);
  expect(await runtime.running('rental', SCOPE)).toBe(rental.manifest.version);
  expect([faults, incidents, lines]).toEqual([[], [], []]);
});

test('a stack of a bundle is shown at the places of its source, where its map was deployed', async () => {
  const { code, map } = await transform('const first = 1;\nthrow new Error(String(first));\n', {
    minify: true,
    sourcemap: true,
    sourcefile: 'src/items.ts',
  });
  const column = code.indexOf('throw') + 1;
  const modules = [
    { name: 'main.js', mediaType: 'application/javascript+module', bytes: await bundleOf('rental.ts') },
    { name: 'main.js.map', mediaType: 'application/source-map', bytes: new TextEncoder().encode(map) },
  ];
  const script = 'rental--0.1.1';
  const own = makeScopeUnit(rental.vertical).migrations.filter(({ guarded }) => guarded);
  const declared = { manifest: rental.manifest, migrations: declaredMigrations(own), egress: [] };
  await runtime.upload(
    { vertical: 'rental', version: '0.1.1', script, ...declared, modules },
    () => undefined,
  );
  await runtime.serve({ vertical: 'rental', archiveScript: script });
  const bundle = runtime.serving('rental')?.bundle ?? '';
  expect(await runtime.mapStack('rental', bundle, `Error: 1\n    at main.js:1:${column}`)).toBe(
    'Error: 1\n    at src/items.ts:2:1',
  );
  expect(await runtime.mapStack('rental', 'another', 'at main.js:1:1')).toBe('at main.js:1:1');
});

test('after SIGKILL of its process it is served again, with what was there', async () => {
  const [{ pid } = { pid: null }] = runtime.processes();
  process.kill(pid as number, 'SIGKILL');
  await expect.poll(() => faults).toMatchObject([{ vertical: 'rental', reason: 'died' }]);
  const again = await manage('provision', { name: 'Shop' });
  expect([again.status, await again.json()]).toMatchObject([200, { status: 'unchanged' }]);
});
