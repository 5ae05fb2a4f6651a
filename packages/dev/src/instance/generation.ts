/** One version of the application with its engine: what serves requests between two saves. */
import { randomBytes } from 'node:crypto';
import type { RunningApp, WebFiles } from '@freehold/app';
import { IDENTITY_CHOICE_KEY, type Mail } from '@freehold/auth';
import {
  PLATFORM_SECRET_HEADER,
  type ProvisionRequest,
  type ScopeId,
  type ScopeRef,
  type TenantId,
} from '@freehold/contracts';
import { makeNodeBlobStore, type NodeEngine, openNodeEngine } from '@freehold/engine-node';
import { type DeliveryRunner, makeDeliveryRunner, makeUnitVault, makeVaultUnit } from '@freehold/kernel';
import { type IncidentSink, makeKeyring } from '@freehold/store';
import type { LoadedApp } from '../build/loader.ts';
import { readBindings } from '../project/bindings.ts';
import type { DevState } from '../project/state.ts';
import { type Refused, watchedScope } from './watched-scope.ts';

/** The one instance of a development server. */
export const INSTANCE: ScopeRef = {
  tenantId: 'tnt_00000000000000000000000001' as TenantId,
  scopeId: 'scp_00000000000000000000000001' as ScopeId,
};

export const CLIENT_ID = 'freehold-dev';

/** The surroundings that all versions share. */
export interface Surroundings {
  readonly root: string;
  readonly dataDirectory: string;
  readonly secrets: Pick<DevState, 'platformSecret' | 'sealKey' | 'clientSecret'>;
  /** The origin that browsers see. */
  readonly origin: string;
  readonly issuer: string;
  readonly onIncident: IncidentSink;
  readonly onRefused: (refused: Refused) => void;
  readonly onMail: (mail: Mail) => void;
}

export interface Generation {
  readonly loaded: LoadedApp;
  /** The pages that it serves. */
  readonly webFiles: WebFiles | undefined;
  readonly running: RunningApp;
  readonly engine: NodeEngine;
  /** Serves a request of the instance. */
  fetch(request: Request, clientAddress: string | null): Promise<Response>;
  /** Stops its background work, finishes what was accepted, and releases the data. */
  close(): Promise<void>;
}

/**
 * Opens the data with a version, which migrates it, and makes the instance or finds it.
 * @throws what the engine, the migrations and the routes of the platform answer; everything is closed then.
 */
export async function openGeneration(
  loaded: LoadedApp,
  around: Surroundings,
  webFiles: WebFiles | undefined,
): Promise<Generation> {
  const { dataDirectory, onIncident } = around;
  const engine = openNodeEngine({ dataDirectory, onIncident });
  let deliveries: DeliveryRunner | null = null;
  const close = async () => {
    await deliveries?.stop();
    await engine.close();
  };
  try {
    const running = serve(loaded, engine, around, (scopeId) => deliveries?.wake(scopeId));
    await provision(running, around);
    const scope = watchedScope(running.host.scope(INSTANCE.scopeId), around.onRefused);
    deliveries = makeDeliveryRunner({
      vertical: running.units.scope.vertical,
      scope: () => scope,
      attachments: running.host.attachments,
      now: Date.now,
      onIncident,
    });
    await deliveries.resume([INSTANCE.scopeId]);
    const node = {
      tenant: INSTANCE.tenantId,
      scope: INSTANCE.scopeId,
      vertical: running.manifest.slug,
      version: running.manifest.version,
      surface: 'app',
      origin: around.origin,
    };
    const bindings = readBindings(around.root);
    const fetch: Generation['fetch'] = async (request, clientAddress) =>
      running.app.fetch(request, { ...bindings, node, clientAddress });
    return { loaded, webFiles, running, engine, fetch, close };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }

  function serve(
    { app, makeApp }: LoadedApp,
    opened: NodeEngine,
    { secrets: { sealKey, platformSecret }, onMail }: Surroundings,
    onWork: (scopeId: string) => void,
  ): RunningApp {
    const keyring = makeKeyring([sealKey]);
    const vaultUnit = makeVaultUnit(keyring);
    return makeApp(app, {
      engine: opened,
      vault: makeUnitVault((tenantId) => opened.unit(vaultUnit, tenantId, { create: true })),
      sealing: keyring,
      blobs: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId, now: Date.now }),
      onWork,
      platformSecret,
      now: Date.now,
      random: (bytes) => randomBytes(bytes),
      fetch: (url, init) => fetch(url, init),
      onIncident,
      mailer: { send: async (mail) => onMail(mail) },
      ...(webFiles === undefined ? {} : { webFiles }),
    });
  }
}

/** Makes the instance as a platform does it, or brings its roles and its settings to this version. */
async function provision(
  { app, manifest }: RunningApp,
  { issuer, secrets: { platformSecret, clientSecret } }: Surroundings,
): Promise<void> {
  const request: ProvisionRequest = {
    ...INSTANCE,
    name: manifest.name,
    config: {
      [IDENTITY_CHOICE_KEY]: JSON.stringify({ mode: 'oidc', issuer, clientId: CLIENT_ID }),
      OIDC_CLIENT_SECRET: clientSecret,
    },
  };
  const response = await app.fetch(
    new Request('http://internal.invalid/internal/provision', {
      method: 'POST',
      headers: { [PLATFORM_SECRET_HEADER]: platformSecret, 'content-type': 'application/json' },
      body: JSON.stringify(request),
    }),
    { node: null },
  );
  if (response.ok) return;
  const problem = (await response.json().catch(() => ({}))) as { detail?: string; reason?: string };
  throw new ProvisionError(
    problem.detail ?? `/internal/provision answered ${response.status}`,
    problem.reason,
  );
}

/** The instance could not be opened with a version. */
export class ProvisionError extends Error {
  override readonly name = 'ProvisionError';
  /** The reason of the problem document, such as `migration_failed`. */
  readonly reason: string | undefined;

  constructor(message: string, reason: string | undefined) {
    super(message);
    this.reason = reason;
  }
}
