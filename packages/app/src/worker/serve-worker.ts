/**
 * An application as a worker of its own, on workerd or Cloudflare: a durable object for each scope, for each tenant's
 * identity directory and for each tenant's vault. Everything that it needs to know comes in bindings.
 */
import { env } from 'cloudflare:workers';
import { problemDocument, publicError } from '@freehold/contracts';
import {
  makeBucketBlobStore,
  makeS3Bucket,
  makeUnitObject,
  type UnitNamespace,
  workerdEngine,
} from '@freehold/engine-workerd';
import {
  makeScopeUnit,
  makeUnitVault,
  makeVaultUnit,
  runDeliveries,
  type ScopeHost,
  type ScopeUnit,
} from '@freehold/kernel';
import { type BlobStore, type IncidentSink, type Keyring, makeKeyring } from '@freehold/store';
import { AwsClient } from 'aws4fetch';
import type { App } from '../declaration/app.ts';
import type { AppServices, WebFiles } from '../declaration/env.ts';
import { makeApp } from '../make-app.ts';
import { makeNodeVerifier } from './node-assertion.ts';

declare global {
  namespace Cloudflare {
    interface Env {
      readonly SCOPES: UnitNamespace;
      readonly IDENTITIES: UnitNamespace;
      readonly VAULTS: UnitNamespace;
      /** Reaches what the operator runs, on whatever network: never what a tenant names. */
      readonly OWN_NETWORK: Fetcher;
      /** An absent value is null. */
      readonly PLATFORM_SECRET: string | null;
      readonly SEAL_KEY: string | null;
      readonly NODE_KEYS: string | null;
      readonly OWN_ISSUER: string | null;
      readonly S3_ENDPOINT: string | null;
      readonly S3_BUCKET: string | null;
      readonly S3_REGION: string | null;
      readonly S3_ACCESS_KEY_ID: string | null;
      readonly S3_SECRET_ACCESS_KEY: string | null;
    }
  }
}

export interface WorkerOptions {
  /** The built pages, which the bundle brings: `webFiles` of `freehold:web-files`. */
  readonly webFiles?: WebFiles | undefined;
}

const now = (): number => Date.now();

/** One line an incident, on standard error: what broke and where, never what was sent. */
const onIncident: IncidentSink = (error, where) => {
  const said = error instanceof Error ? (error.stack ?? error.message) : 'something that is not an error';
  // biome-ignore lint/suspicious/noConsole: a worker has no other way to its operator.
  console.error(JSON.stringify({ level: 'error', at: new Date(now()).toISOString(), where, error: said }));
};

/**
 * Serves an application from the module of a worker, which exports the three classes by these names and `handler` as its
 * default. The bindings are read when this is called, once.
 */
export function serveWorker(app: App, { webFiles }: WorkerOptions = {}) {
  const { manifest } = app;
  const keyring = makeKeyring(listOf(env.SEAL_KEY));
  const vaultUnit = makeVaultUnit(keyring);
  const blobs = openBlobs();
  const engine = workerdEngine({
    namespaces: {
      [`scope-${manifest.slug}`]: env.SCOPES,
      identity: env.IDENTITIES,
      [vaultUnit.kind]: env.VAULTS,
    },
    onIncident,
  });
  const running = makeApp(app, {
    engine,
    vault: makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true })),
    ...servicesOf(keyring, blobs),
    ...(webFiles ? { webFiles } : {}),
  });
  const nodeOf = makeNodeVerifier({
    keys: JSON.parse(env.NODE_KEYS ?? '{"keys":[]}'),
    vertical: manifest.slug,
    now,
  });
  const settings = settingsOf(manifest.env);
  const { units, host } = running;

  return {
    /** A scope does by itself what is due, woken by an alarm that outlives the process. */
    ScopeObject: scopeObject(units.scope, host, blobs !== undefined),
    IdentityObject: makeUnitObject(units.identity, { onIncident }),
    VaultObject: makeUnitObject(vaultUnit, { onIncident }),
    handler: {
      async fetch(request: Request): Promise<Response> {
        try {
          return await running.app.fetch(request, { ...settings, ...(await nodeOf(request.headers)) });
        } catch (error) {
          const shown = publicError(error);
          if (shown !== error)
            onIncident(error, { kind: manifest.slug, key: 'http', method: request.method });
          return problemDocument(shown);
        }
      },
    },
  };
}

type Blobs = (scopeId: string) => BlobStore;

function servicesOf(sealing: Keyring, blobs: Blobs | undefined): Omit<AppServices, 'engine'> {
  return {
    sealing,
    ...(blobs ? { blobs } : {}),
    platformSecret: listOf(env.PLATFORM_SECRET),
    now,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    // Addresses that tenants choose must be public: workerd itself refuses the rest. Only the operator's own issuer may
    // be private, and only on its own behalf, because another one could name an address there as its endpoint.
    fetch: (url: string, init: RequestInit, purpose?: { readonly issuer: string }) =>
      purpose !== undefined && purpose.issuer === env.OWN_ISSUER
        ? env.OWN_NETWORK.fetch(url, init)
        : fetch(url, init),
    modelFetch: (url, init) => env.OWN_NETWORK.fetch(url, init),
    onIncident,
  };
}

function scopeObject({ vertical }: ScopeUnit, host: ScopeHost, hasBlobs: boolean) {
  return makeUnitObject((object) => makeScopeUnit(vertical, { onWork: () => object.wake() }), {
    onIncident,
    work: (_scope, scopeId) =>
      runDeliveries({
        vertical,
        // Not the object's own stub: what is sealed is opened with keys that only the host knows to fetch.
        scope: host.scope(scopeId),
        scopeId,
        now,
        onIncident,
        ...(hasBlobs ? { attachments: host.attachments } : {}),
      }),
  });
}

/** The settings of instances without delivered ones, and the settings of language models. */
function settingsOf(declared: App['manifest']['env']): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name, value]) =>
        (Object.hasOwn(declared, name) || name.startsWith('FREEHOLD_MODEL_')) && value !== null,
    ),
  );
}

/** Photos and documents lie in a bucket, when one is bound; without, nothing can be attached. */
function openBlobs(): Blobs | undefined {
  const { S3_ENDPOINT: endpoint, S3_BUCKET: name, S3_REGION: region } = env;
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!endpoint || !name || !accessKeyId || !secretAccessKey) return undefined;
  const signer = new AwsClient({
    accessKeyId,
    secretAccessKey,
    service: 's3',
    region: region ?? 'us-east-1',
  });
  const bucket = makeS3Bucket({
    endpoint,
    bucket: name,
    send: async (request) => {
      // Of a request without a content type the signer would leave the body out.
      const body = request.body === null ? {} : { body: await request.arrayBuffer() };
      return env.OWN_NETWORK.fetch(await signer.sign(request, body));
    },
  });
  return (scopeId: string) => makeBucketBlobStore({ bucket, scopeId, now });
}

/** Secrets of one name, while one is replaced by another: the first counts, all are taken. */
function listOf(value: string | null): string[] {
  return (value ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}
