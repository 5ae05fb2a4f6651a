/** Fieldwork as a worker of its own. `fieldwork.capnp` names its bindings. */
import { webFiles } from 'freehold:web-files';
import { serveWorker } from '@freehold/app/worker';
import { fieldwork } from '@freehold/fieldwork';

const worker = serveWorker(fieldwork, { webFiles });
export const { ScopeObject, IdentityObject, VaultObject } = worker;

// biome-ignore lint/style/noDefaultExport: it is what workerd hands requests to.
export default worker.handler;
