/**
 * Fieldwork as a worker of its own: a durable object for each scope, for each tenant's identity directory and for each
 * tenant's vault. Everything that it needs to know comes in bindings; `fieldwork.capnp` names them.
 */
import { env } from 'cloudflare:workers';
import { webFiles } from 'fieldwork:web-files';
import { makeApp } from '@freehold/app';
import { problemDocument, publicError } from '@freehold/contracts';
import {
  makeBucketBlobStore,
  makeS3Bucket,
  makeUnitObject,
  type UnitNamespace,
  workerdEngine,
} from '@freehold/engine-workerd';
import { fieldwork } from '@freehold/fieldwork';
import { makeScopeUnit, makeUnitVault, makeVaultUnit, runDeliveries } from '@freehold/kernel';
import { type IncidentSink, makeKeyring } from '@freehold/store';
import { AwsClient } from 'aws4fetch';
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

const { manifest } = fieldwork;
const now = (): number => Date.now();
const keyring = makeKeyring(listOf(env.SEAL_KEY));
const vaultUnit = makeVaultUnit(keyring);
const blobs = openBlobs();

/** One line an incident, on standard error: what broke and where, never what was sent. */
const onIncident: IncidentSink = (error, where) => {
  const said = error instanceof Error ? (error.stack ?? error.message) : 'something that is not an error';
  // biome-ignore lint/suspicious/noConsole: a worker has no other way to its operator.
  console.error(JSON.stringify({ level: 'error', at: new Date(now()).toISOString(), where, error: said }));
};

const engine = workerdEngine({
  namespaces: {
    [`scope-${manifest.slug}`]: env.SCOPES,
    identity: env.IDENTITIES,
    [vaultUnit.kind]: env.VAULTS,
  },
  onIncident,
});

const { app, host, units } = makeApp(fieldwork, {
  engine,
  vault: makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true })),
  sealing: keyring,
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
  ...(webFiles ? { webFiles } : {}),
});

/** A scope does by itself what is due, woken by an alarm that outlives the process. */
export class ScopeObject extends makeUnitObject(
  (object) => makeScopeUnit(units.scope.vertical, { onWork: () => object.wake() }),
  {
    onIncident,
    work: (_scope, scopeId) =>
      runDeliveries({
        vertical: units.scope.vertical,
        // Not the object's own stub: what is sealed is opened with keys that only the host knows to fetch.
        scope: host.scope(scopeId),
        scopeId,
        now,
        onIncident,
        ...(blobs ? { attachments: host.attachments } : {}),
      }),
  },
) {}
export class IdentityObject extends makeUnitObject(units.identity, { onIncident }) {}
export class VaultObject extends makeUnitObject(vaultUnit, { onIncident }) {}

const nodeOf = makeNodeVerifier({
  keys: JSON.parse(env.NODE_KEYS ?? '{"keys":[]}'),
  vertical: manifest.slug,
  now,
});
/** The settings of instances without delivered ones, and the settings of language models. */
const settings = Object.fromEntries(
  Object.entries(env).filter(
    ([name, value]) =>
      (Object.hasOwn(manifest.env, name) || name.startsWith('FREEHOLD_MODEL_')) && value !== null,
  ),
);

// biome-ignore lint/style/noDefaultExport: it is what workerd hands requests to.
export default {
  async fetch(request: Request): Promise<Response> {
    try {
      return await app.fetch(request, { ...settings, ...(await nodeOf(request.headers)) });
    } catch (error) {
      const shown = publicError(error);
      if (shown !== error) onIncident(error, { kind: manifest.slug, key: 'http', method: request.method });
      return problemDocument(shown);
    }
  },
};

/** Photos and documents lie in a bucket, when one is bound; without, nothing can be attached. */
function openBlobs() {
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
