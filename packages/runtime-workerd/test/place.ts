/** A runtime over a memory engine, with two tenants: the platform's side of the tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { App } from '@freehold/app';
import { type Mailer, makeIdentityDirectory } from '@freehold/auth';
import { MANAGED_SCOPE_HEADER, MANAGED_TENANT_HEADER } from '@freehold/contracts';
import { declaredMigrations } from '@freehold/directory';
import {
  makeMemoryBlobStore,
  makeNodeBlobStore,
  openMemoryEngine,
  openNodeEngine,
} from '@freehold/engine-node';
import { makeScopeUnit, makeUnitVault, makeVaultUnit } from '@freehold/kernel';
import { type Engine, makeKeyring } from '@freehold/store';
import { build } from 'esbuild';
import {
  type HostedLine,
  type PreviewPlace,
  type ProcessFault,
  type ProcessLimits,
  WorkerdRuntime,
} from '../src/index.ts';

export interface Instance {
  readonly tenant: string;
  readonly scope: string;
  /** Default: that of the place. */
  readonly vertical?: string;
}

export const ACME: Instance = {
  tenant: 'tnt_00000000000000000000000001',
  scope: 'scp_00000000000000000000000001',
};
export const BOLT: Instance = {
  tenant: 'tnt_00000000000000000000000002',
  scope: 'scp_00000000000000000000000002',
};
/** A second scope of the first tenant. */
export const SECOND: Instance = { tenant: ACME.tenant, scope: 'scp_00000000000000000000000003' };

/** A scope of the first tenant, of another vertical. */
export const BESIDE: Instance = { ...ACME, scope: 'scp_00000000000000000000000005', vertical: 'other' };
/** A scope of another vertical. */
export const OTHER: Instance = { ...BOLT, scope: 'scp_00000000000000000000000004', vertical: 'other' };

const SECRET = 's'.repeat(40);

export interface PlaceOptions {
  readonly limits?: Partial<ProcessLimits>;
  /** The vertical of the scopes. */
  readonly vertical: string;
  /** Scopes beside those that every place has. */
  readonly instances?: readonly Instance[];
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Waited for before the settings of an instance are told. */
  readonly beforeSettings?: () => Promise<void>;
  /** The builder's secrets. Default: none. */
  readonly secrets?: () => Readonly<Record<string, string>>;
  readonly mailer?: Mailer;
  /** Hosts that may be called, and no others. Default: all public ones. */
  readonly declaredOnly?: readonly string[];
}

export type Place = ReturnType<typeof openPlace>;

export function openPlace({
  limits = {},
  vertical,
  instances: others = [],
  fetch = globalThis.fetch,
  beforeSettings,
  secrets = () => ({}),
  mailer = { send: async () => undefined },
  declaredOnly,
}: PlaceOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'freehold-runtime-'));
  const faults: ProcessFault[] = [];
  const incidents: unknown[] = [];
  const lines: HostedLine[] = [];
  /** The scopes whose copies were removed. */
  const forgotten: string[] = [];
  /** The scopes of which no copy is made now, and how often that began. */
  const paused = { now: new Set<string>(), times: 0 };
  const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
  const onIncident = (error: unknown): void => void incidents.push(error);
  const engine = openMemoryEngine({ now: Date.now, random, onIncident });
  const identity = makeIdentityDirectory();
  const vaultUnit = makeVaultUnit(makeKeyring(['k'.repeat(43)]));
  const instances = new Map(
    [ACME, BOLT, SECOND, OTHER, BESIDE, ...others].map((instance) => [instance.scope, instance]),
  );
  const stores = new Map<string, ReturnType<typeof makeMemoryBlobStore>>();
  const blobs = (scope: string) => {
    const store = stores.get(scope) ?? makeMemoryBlobStore({ now: Date.now });
    stores.set(scope, store);
    return store;
  };
  const open = (
    bundles: Pick<Engine, 'unit'> = engine,
    others: Partial<ProcessLimits> = {},
  ): WorkerdRuntime =>
    new WorkerdRuntime({
      folder,
      engine: bundles,
      now: Date.now,
      onIncident,
      limits: { ...limits, ...others },
      openPreviewPlace: (of) => openPreviewPlace(of, onIncident),
      onFault: (fault) => void faults.push(fault),
      copies: {
        look: () => undefined,
        forget: async (scope) => void forgotten.push(scope),
        pause: async (scope) => {
          paused.now.add(scope);
          paused.times += 1;
          return () => void paused.now.delete(scope);
        },
      },
      ports: {
        verticalOf: async ({ tenant, scope }) => {
          const found = instances.get(scope);
          return found?.tenant === tenant ? (found.vertical ?? vertical) : null;
        },
        nameOf: async () => 'Shop',
        signInBindings: () => ({ AUTH_PROVIDER: 'directory' }),
        settingsOf: async () => {
          await beforeSettings?.();
          return { settings: { AUTH_PROVIDER: 'directory' }, platformSecret: [SECRET] };
        },
        secretsOf: async () => secrets(),
        engine,
        identity,
        vault: makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true })),
        blobs,
        mailer,
        issuerFetch: fetch,
        modelFetch: fetch,
        isModelProvider: () => false,
        modelSecret: () => null,
        egressPolicy: async () =>
          declaredOnly ? { mode: 'declared-only', hosts: declaredOnly } : { mode: 'observe', hosts: [] },
        onLines: (_vertical, sent) => void lines.push(...sent),
      },
    });
  const place = {
    folder,
    faults,
    incidents,
    lines,
    forgotten,
    paused,
    runtime: open(),
    engine,
    blobs,
    directory: (tenant: string) => engine.unit(identity, tenant),
    /** Opens the platform's side over these bundles. */
    open,
    /** The platform's own request of the management contract. */
    manage: (
      path: string,
      { tenant, scope, vertical: slug = vertical }: Instance,
      body: object = {},
    ): Promise<Response> =>
      place.runtime.manage(
        slug,
        new Request(`http://vertical.internal/internal/${path}`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            [MANAGED_TENANT_HEADER]: tenant,
            [MANAGED_SCOPE_HEADER]: scope,
          },
          body: JSON.stringify({ tenantId: tenant, scopeId: scope, ...body }),
        }),
      ),
    provision: (instance: Instance) => place.manage('provision', instance, { name: 'Shop' }),
    /** A visitor's request. */
    visit: (
      path: string,
      { tenant, scope, vertical: slug = vertical }: Instance,
      init: RequestInit = {},
    ): Promise<Response> =>
      place.runtime.fetch(
        slug,
        new Request(`http://shop.localhost${path}`, init),
        { tenant, scope, vertical: slug, version: '1.0.0', surface: 'app', origin: 'http://shop.localhost' },
        null,
      ),
    /** Deploys a bundle of `bundles/`, which declares this application. */
    upload: async (
      app: App,
      entry: string,
      script = `${app.manifest.slug}--${app.manifest.version}`,
    ): Promise<string> => {
      const { version, slug } = app.manifest;
      const own = makeScopeUnit(app.vertical).migrations.filter(({ guarded }) => guarded);
      const main = {
        name: 'main.js',
        mediaType: 'application/javascript+module',
        bytes: await bundled(entry),
      };
      await place.runtime.upload(
        {
          vertical: slug,
          version,
          script,
          manifest: app.manifest,
          migrations: declaredMigrations(own),
          egress: app.egress ?? [],
          modules: [main],
        },
        () => undefined,
      );
      return script;
    },
    /** Ends the platform's side in order, and opens it again over the same data, with other limits where they are given. */
    reopen: async (others: Partial<ProcessLimits> = {}): Promise<void> => {
      await place.runtime.close();
      place.runtime = open(engine, others);
      await place.runtime.open([vertical]);
    },
    close: async (): Promise<void> => {
      await place.runtime.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return place;
}

function openPreviewPlace(dataDirectory: string, onIncident: (error: unknown) => void): PreviewPlace {
  const engine = openNodeEngine({ dataDirectory, historyMs: 0, openUnitsMax: 8, onIncident });
  const vaultUnit = makeVaultUnit(makeKeyring(['k'.repeat(43)]));
  return {
    engine,
    identity: makeIdentityDirectory(),
    vault: makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true })),
    blobs: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId, now: Date.now }),
    close: () => engine.close(),
  };
}

const built = new Map<string, Promise<Uint8Array>>();

/** @param entry a file of `bundles/`, or the text of a module that may import from there. */
function bundled(entry: string): Promise<Uint8Array> {
  const known = built.get(entry);
  if (known) return known;
  const folder = fileURLToPath(new URL('bundles', import.meta.url));
  const source = entry.endsWith('.ts')
    ? { entryPoints: [join(folder, entry)] }
    : { stdin: { contents: entry, resolveDir: folder, loader: 'ts' as const } };
  const made = build({
    ...source,
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser', 'import'],
    mainFields: ['module', 'main'],
    external: ['node:*', 'cloudflare:workers'],
  }).then(({ outputFiles }) => (outputFiles[0] as { contents: Uint8Array }).contents);
  built.set(entry, made);
  return made;
}
