/**
 * The entry of the library's worker: a durable object for each scope and for each vault. It is plain JavaScript because
 * it stands between two sets of types, workerd's and Node's.
 */
import { env } from 'cloudflare:workers';
import { makeBucketBlobStore, makeS3Bucket, makeUnitObject, workerdEngine } from '@freehold/engine-workerd';
import { libraryUnit, libraryVaultUnit } from '../../packages/testkit/src/scope-contract/library.ts';
import { makeIncidents, makeLibraryApplication, makeLibraryClock } from './library-application.ts';

const clock = makeLibraryClock();
const incidents = makeIncidents();
const options = { now: clock.now, onIncident: incidents.record };

export class LibraryObject extends makeUnitObject(libraryUnit, options) {}
export class VaultObject extends makeUnitObject(libraryVaultUnit, options) {}

const bucket = makeS3Bucket({
  endpoint: env.BUCKET_URL,
  bucket: 'attachments',
  send: (request) => fetch(request),
});
const application = makeLibraryApplication({
  engine: workerdEngine({
    namespaces: { [libraryUnit.kind]: env.LIBRARY, [libraryVaultUnit.kind]: env.VAULT },
    onIncident: incidents.record,
  }),
  blobs: (scopeId) => makeBucketBlobStore({ bucket, scopeId, now: clock.now }),
  platformSecret: env.PLATFORM_SECRET,
  clock,
  incidents,
});

export default { fetch: (request) => application(request) };
