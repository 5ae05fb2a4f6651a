/**
 * The platform of a development server: one tenant with one instance, on the runtime of deployed applications, so that what is
 * written here meets the walls that it meets there.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { declarationOf } from '@freehold/app/hosting';
import type { BundledModule } from '@freehold/app/worker/bundle';
import {
  IDENTITY_CHOICE_KEY,
  type IdentityDirectory,
  type IdentityDirectoryUnit,
  type Mail,
  makeIdentityDirectory,
} from '@freehold/auth';
import {
  fromFailure,
  MANAGED_SCOPE_HEADER,
  MANAGED_TENANT_HEADER,
  PlatformError,
  problemDocument,
  publicError,
  type ScopeId,
  type ScopeRef,
  type TenantId,
} from '@freehold/contracts';
import { makeNodeBlobStore, type NodeEngine, openNodeEngine } from '@freehold/engine-node';
import { makeUnitVault, makeVaultUnit } from '@freehold/kernel';
import {
  bundleUnit,
  type HostedLine,
  makeModelProviders,
  type PlatformPorts,
  type ProcessFault,
  WorkerdRuntime,
} from '@freehold/runtime-workerd';
import { type IncidentSink, makeKeyring } from '@freehold/store';
import { makeVerticalClient, type VerticalClient } from '@freehold/vertical-host/client';
import type { LoadedApp } from '../build/loader.ts';
import { readBindings } from '../project/bindings.ts';
import type { DevState } from '../project/state.ts';
import type { RequestLog } from './request-log.ts';

/** The one instance of a development server. */
export const INSTANCE: ScopeRef = {
  tenantId: 'tnt_00000000000000000000000001' as TenantId,
  scopeId: 'scp_00000000000000000000000001' as ScopeId,
};
const REF = { tenant: INSTANCE.tenantId, scope: INSTANCE.scopeId };

export const CLIENT_ID = 'freehold-dev';

export interface LocalPlatformOptions {
  /** The project's folder. */
  readonly root: string;
  readonly dataDirectory: string;
  readonly secrets: Pick<DevState, 'platformSecret' | 'sealKey' | 'clientSecret'>;
  /** The origin that browsers see. */
  readonly origin: string;
  readonly issuer: string;
  readonly requests: RequestLog;
  readonly onMail: (mail: Mail) => void;
  /** Takes what the process of the application tells. It does not throw. */
  readonly onLines: (slug: string, lines: readonly HostedLine[]) => void;
  readonly onFault: (fault: ProcessFault) => void;
  readonly onIncident: IncidentSink;
}

/** A version that the platform keeps. */
export interface Version {
  readonly slug: string;
  readonly name: string;
  /** Its name here: of its content, so that the same content is the same version. */
  readonly script: string;
  readonly egress: readonly string[];
}

const IS_MODEL = /^FREEHOLD_MODEL/;

export class LocalPlatform {
  readonly #options: LocalPlatformOptions;
  readonly #engine: NodeEngine;
  readonly #identity: IdentityDirectoryUnit;
  readonly #runtime: WorkerdRuntime;
  /** The slugs of which the runtime knows what it keeps. */
  readonly #opened = new Set<string>();
  /** The digests of the modules that it has. */
  readonly #sent = new Set<string>();
  /** The version that runs, or is being opened. */
  #version: Version | null = null;
  /** The digest of the bundle that was kept last. */
  #latest = '';
  #bindings: Readonly<Record<string, string>> = {};

  /** @throws EngineError for data that another process has open. */
  constructor(options: LocalPlatformOptions) {
    const { dataDirectory, secrets, onIncident, onFault } = options;
    this.#options = options;
    this.#engine = openNodeEngine({ dataDirectory, onIncident });
    const keyring = makeKeyring([secrets.sealKey]);
    this.#identity = makeIdentityDirectory({ sealing: keyring });
    const vaultUnit = makeVaultUnit(keyring);
    this.#runtime = new WorkerdRuntime({
      folder: join(dataDirectory, 'runtime'),
      engine: this.#engine,
      ports: {
        ...this.#ports(),
        engine: this.#engine,
        identity: this.#identity,
        vault: makeUnitVault((tenantId) => this.#engine.unit(vaultUnit, tenantId, { create: true })),
        blobs: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId, now: Date.now }),
      },
      now: Date.now,
      onIncident,
      onFault,
    });
  }

  /** The identity directory of the tenant. */
  get directory(): IdentityDirectory {
    return this.#engine.unit(this.#identity, INSTANCE.tenantId);
  }

  /** The management contract of the instance. */
  get host(): VerticalClient {
    return makeVerticalClient({ platformSecret: '', fetch: (request) => this.#manage(request) });
  }

  /** Keeps a version, which does not serve yet. */
  async keep({ app }: LoadedApp, modules: readonly BundledModule[]): Promise<Version> {
    const declared = declarationOf(app);
    const { manifest, migrations, egress } = declared;
    const { slug, name } = manifest;
    if (!this.#opened.has(slug)) await this.#runtime.open([slug]);
    this.#opened.add(slug);
    const content = JSON.stringify([declared, modules.map((module) => [module.name, module.digest])]);
    const script = `dev-${createHash('sha256').update(content).digest('hex').slice(0, 24)}`;
    const files = modules.map(({ bytes, ...module }) =>
      this.#sent.has(`${slug} ${module.digest}`) ? module : { ...module, bytes },
    );
    const upload = { vertical: slug, version: script, script, manifest, migrations, egress, modules: files };
    await this.#runtime.upload({ ...upload, declared }, () => undefined);
    this.#sent.clear();
    for (const { digest } of modules) this.#sent.add(`${slug} ${digest}`);
    const row = await this.#engine.unit(bundleUnit, slug).script({ script });
    this.#latest = row?.bundle ?? '';
    return { slug, name, script, egress };
  }

  /**
   * Lets the instance run a version, with its roles and its settings; makes the instance where there is none.
   * @throws PlatformError with the reason, such as `migration_failed`. The version before goes on then.
   */
  async serve(version: Version): Promise<void> {
    const before = this.#version;
    const { slug, script } = version;
    const place = { vertical: slug, archiveScript: script };
    this.#version = version;
    this.#bindings = readBindings(this.#options.root);
    try {
      if (this.#runtime.serving(slug) === null) await this.#runtime.serve(place);
      await this.#move(version);
      await this.#provision(version);
      await this.#runtime.serve(place);
    } catch (error) {
      const told = await this.#explained(error);
      this.#version = before;
      if (before !== null) await this.#move(before);
      throw told;
    }
    if (before !== null && before.slug !== slug) await this.#runtime.end(before.slug);
  }

  /** Forgets every version but the one that runs: nothing goes back to it, because the source is with the builder. */
  async tidy(): Promise<void> {
    const { slug, script: present } = this.#requireVersion();
    for (const { script } of await this.#engine.unit(bundleUnit, slug).scripts({}))
      if (script !== present)
        await this.#runtime.discard({ vertical: slug, script, scopes: [REF], dryRun: false });
  }

  /** Serves a request of the instance. */
  async fetch(request: Request, clientAddress: string | null): Promise<Response> {
    const { slug, script } = this.#requireVersion();
    const { origin, requests } = this.#options;
    const node = { ...REF, vertical: slug, version: script, surface: 'app', origin };
    const { traceparent, end } = requests.begin(request);
    request.headers.set('traceparent', traceparent);
    const answered = await this.#runtime
      .fetch(slug, request, node, clientAddress)
      .catch((error: unknown) => problemDocument(publicError(error)));
    end(answered.status);
    return answered;
  }

  /** Whether the version that runs declares to call a host. `*.example.com` covers every name below it. */
  declares(host: string): boolean {
    const name = host.toLowerCase().replace(/:\d+$/, '');
    return (this.#version?.egress ?? []).some((pattern) =>
      pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern,
    );
  }

  /** Takes the lines that a process gathered, and did not send yet. @param slug default: of the version that runs. */
  async flush(slug: string | undefined = this.#version?.slug): Promise<void> {
    if (slug !== undefined) await this.#runtime.flush(slug);
  }

  /**
   * A stack of a bundle, with the places of the builder's source. It never rejects.
   * @param digest of the bundle; null for the one that is being opened.
   */
  mapStack(slug: string, digest: string | null, stack: string): Promise<string> {
    return this.#runtime.mapStack(slug, digest ?? this.#latest, stack);
  }

  /** Finishes what was accepted, and releases the data. */
  async close(): Promise<void> {
    await this.#runtime.close();
    await this.#engine.close();
  }

  async #move({ slug, script }: Version): Promise<void> {
    const { failure } = await this.#runtime.move({ vertical: slug, ...REF, script });
    if (failure !== null) throw fromFailure(failure);
  }

  /** Makes the instance as a platform does it, or brings its roles and its settings to this version. */
  async #provision({ name }: Version): Promise<void> {
    const { issuer, secrets } = this.#options;
    const choice = { mode: 'oidc', issuer, clientId: CLIENT_ID };
    const config = {
      [IDENTITY_CHOICE_KEY]: JSON.stringify(choice),
      OIDC_CLIENT_SECRET: secrets.clientSecret,
    };
    const response = await this.#manage(
      new Request('http://vertical.internal/internal/provision', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          [MANAGED_TENANT_HEADER]: INSTANCE.tenantId,
          [MANAGED_SCOPE_HEADER]: INSTANCE.scopeId,
        },
        body: JSON.stringify({ ...INSTANCE, name, config }),
      }),
    );
    if (response.ok) return;
    const problem = (await response.json().catch(() => ({}))) as { detail?: string; reason?: string };
    throw new PlatformError(
      'runtime_fault',
      problem.detail ?? `/internal/provision answered ${response.status}`,
      problem.reason === undefined ? {} : { reason: problem.reason },
    );
  }

  /** Whether an instance that failed did so because of its database. */
  async #explained(error: unknown): Promise<unknown> {
    if (!(error instanceof PlatformError) || error.reason !== 'instance_failed') return error;
    const told = await this.host.appliedMigrationsLocal(INSTANCE).catch((each: unknown) => each);
    return told instanceof PlatformError && told.reason === 'unit_unreadable' ? told : error;
  }

  #manage(request: Request): Promise<Response> {
    return this.#runtime.manage(this.#requireVersion().slug, request);
  }

  #requireVersion(): Version {
    if (this.#version !== null) return this.#version;
    throw new PlatformError('unavailable', 'No version of the application is served.');
  }

  #ports(): Omit<PlatformPorts, 'engine' | 'identity' | 'vault' | 'blobs'> {
    const { secrets, onMail, onLines } = this.#options;
    const pick = (isModel: boolean) =>
      Object.fromEntries(Object.entries(this.#bindings).filter(([name]) => IS_MODEL.test(name) === isModel));
    const models = () => makeModelProviders(pick(true));
    return {
      verticalOf: async ({ tenant, scope }) =>
        tenant === REF.tenant && scope === REF.scope ? (this.#version?.slug ?? null) : null,
      nameOf: async () => this.#version?.name ?? null,
      signInBindings: () => pick(false),
      settingsOf: async () => ({
        settings: { ...pick(false), ...models().settings },
        platformSecret: [secrets.platformSecret],
      }),
      secretsOf: async () => ({}),
      mailer: { send: async (mail) => onMail(mail) },
      issuerFetch: (url, init) => fetch(url, init),
      modelFetch: (url, init) => fetch(url, init),
      isModelProvider: (url) => models().has(url),
      modelSecret: (name, url) => models().secret(name, url),
      egressPolicy: async () => ({ mode: 'observe', hosts: this.#version?.egress ?? [] }),
      onLines,
    };
  }
}
