/** The same application as a deployed one: in a process of the runtime, behind the platform's sign-in. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AppServices, Bindings } from '@freehold/app';
import { bundleApp } from '@freehold/app/worker/bundle';
import { makeIdentityDirectory } from '@freehold/auth';
import { MANAGED_SCOPE_HEADER, MANAGED_TENANT_HEADER } from '@freehold/contracts';
import { declaredMigrations } from '@freehold/directory';
import { makeScopeUnit } from '@freehold/kernel';
import { type HostedNode, WorkerdRuntime } from '@freehold/runtime-workerd';
import fieldwork from '../src/app.ts';

const SLUG = fieldwork.manifest.slug;
const SCRIPT = `${SLUG}--${fieldwork.manifest.version}`;

export interface DeployedOptions
  extends Pick<AppServices, 'vault' | 'mailer' | 'blobs' | 'modelFetch' | 'fetch'> {
  readonly engine: AppServices['engine'];
  readonly dataDirectory: string;
  readonly bindings: Readonly<Record<string, string>>;
  readonly platformSecret: string;
  /** The instances, by scope. */
  readonly tenants: ReadonlyMap<string, { readonly tenant: string; readonly name: string }>;
  readonly onIncident: (error: unknown) => void;
}

export interface DeployedFieldwork {
  fetch(request: Request, env: Bindings): Promise<Response>;
  stop(): Promise<void>;
}

let modules: ReturnType<typeof bundleApp> | undefined;

export async function deployFieldwork(options: DeployedOptions): Promise<DeployedFieldwork> {
  const { engine, dataDirectory, bindings, tenants, onIncident } = options;
  const instanceOf = ({ tenant, scope }: { tenant: string; scope: string }) => {
    const found = tenants.get(scope);
    return found?.tenant === tenant ? found : null;
  };
  const runtime = new WorkerdRuntime({
    folder: join(dataDirectory, 'runtime'),
    engine,
    now: Date.now,
    onIncident,
    onFault: ({ detail }) => onIncident(new Error(detail)),
    ports: {
      verticalOf: async (ref) => (instanceOf(ref) ? SLUG : null),
      nameOf: async (ref) => instanceOf(ref)?.name ?? null,
      signInBindings: () => bindings,
      settingsOf: async () => ({ settings: bindings, platformSecret: [options.platformSecret] }),
      secretsOf: async () => ({}),
      engine,
      identity: makeIdentityDirectory(),
      vault: options.vault as NonNullable<AppServices['vault']>,
      blobs: options.blobs ?? null,
      mailer: options.mailer ?? null,
      issuerFetch: options.fetch as never,
      modelFetch: (options.modelFetch ?? fetch) as never,
      isModelProvider: () => true,
      modelSecret: () => null,
      egressPolicy: async () => ({ mode: 'observe', hosts: [] }),
      onLines: () => undefined,
    },
  });
  const root = fileURLToPath(new URL('..', import.meta.url));
  modules ??= bundleApp({ root, entry: join(root, 'src/app.ts') });
  const own = makeScopeUnit(fieldwork.vertical).migrations.filter(({ guarded }) => guarded);
  await runtime.upload(
    {
      ...{ vertical: SLUG, version: fieldwork.manifest.version, script: SCRIPT },
      manifest: fieldwork.manifest,
      migrations: declaredMigrations(own),
      egress: fieldwork.egress ?? [],
      modules: await modules,
    },
    () => undefined,
  );
  await runtime.serve({ vertical: SLUG, archiveScript: SCRIPT });
  return {
    fetch: async (request, { node, clientAddress = null }) =>
      node === null
        ? runtime.manage(SLUG, await withScope(request))
        : runtime.fetch(SLUG, request, node as HostedNode, clientAddress),
    stop: () => runtime.close(),
  };
}

/** The platform names the scope of a request in its headers too. */
async function withScope(request: Request): Promise<Request> {
  const named = new URL(request.url).searchParams;
  const body = request.method === 'GET' ? {} : ((await request.clone().json()) as Record<string, string>);
  const headers = new Headers(request.headers);
  headers.set(MANAGED_TENANT_HEADER, body.tenantId ?? named.get('tenantId') ?? '');
  headers.set(MANAGED_SCOPE_HEADER, body.scopeId ?? named.get('scopeId') ?? '');
  return new Request(request, { headers });
}
