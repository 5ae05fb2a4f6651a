/** The rental shop as a worker of its own: the peer of the same vertical, deployed. */
import { serveWorker } from '@freehold/app/worker';
import rental from '@freehold/rental';

const worker = serveWorker(rental);
export const { ScopeObject, IdentityObject, VaultObject } = worker;

export default worker.handler;
