/** Whose request is being served at this point of the code, so that an error deep inside is known to be of somebody's. */
import { AsyncLocalStorage } from 'node:async_hooks';

export interface ServedNode {
  readonly tenant: string;
  readonly scope: string;
  readonly vertical: string;
  readonly version: string;
}

const storage = new AsyncLocalStorage<ServedNode>();

/** Runs a task for a node. */
export function whileServing<T>(node: ServedNode, task: () => T): T {
  return storage.run(node, task);
}

/** The node of the request that led here, or null where none did. */
export function servedNode(): ServedNode | null {
  return storage.getStore() ?? null;
}
