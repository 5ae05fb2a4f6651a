/**
 * The isolates that bundles are loaded into, and the scopes that run in each. workerd keeps what it loaded under a name until
 * that worker aborts its isolate (`abortIsolate`), so one that no scope runs any more is told to.
 */
import type { Isolate } from '../lib/bundle.ts';
import type { HostEnv } from './env.ts';

/** The module around a bundle, by which the host gives it up. It is the bundle's to reach: nothing depends on its answer. */
export const UNLOAD_MODULE = 'freehold-unload.js';

/** @param mainModule of the bundle. Its exports are passed on, but for one named `Unload`. */
export const unloadModule = (mainModule: string): string => `
import { abortIsolate, WorkerEntrypoint } from 'cloudflare:workers';
export * from ${JSON.stringify(`./${mainModule}`)};
export class Unload extends WorkerEntrypoint {
  unload() {
    abortIsolate('no scope runs it any more');
  }
}
`;

interface LoadedIsolate {
  /** Of its own: one that is given up is never met again. */
  readonly name: string;
  readonly digest: string;
  readonly scopes: Set<string>;
}

export interface IsolateRef {
  readonly digest: string;
  readonly isolate: Isolate;
  readonly tenant: string;
}

/** The digest, with the tenant where it has isolates of its own → the isolate. */
const loaded = new Map<string, LoadedIsolate>();
let named = 0;

/** The kinds of isolates in which a bundle is loaded for a tenant. */
export function loadedKinds(ref: Omit<IsolateRef, 'isolate'>): readonly Isolate[] {
  return (['vertical', 'tenant'] as const).filter((isolate) => loaded.has(keyOf({ ...ref, isolate })));
}

/** Counts a scope among those that run in an isolate. Returns the name by which workerd knows that isolate. */
export function enterIsolate(scope: string, ref: IsolateRef): string {
  const key = keyOf(ref);
  const present = loaded.get(key);
  if (present) {
    present.scopes.add(scope);
    return present.name;
  }
  named += 1;
  const name = `${key} ${named}`;
  loaded.set(key, { name, digest: ref.digest, scopes: new Set([scope]) });
  return name;
}

/** Forgets an isolate whose bundle did not arrive: workerd would answer each later request with that failure. */
export function forgetIsolate(ref: IsolateRef, name: string): void {
  const key = keyOf(ref);
  if (loaded.get(key)?.name === name) loaded.delete(key);
}

/** Takes a scope out of the isolates of every bundle but one, and gives up those that no scope runs any more. */
export async function leaveIsolates(
  { LOADER }: Pick<HostEnv, 'LOADER'>,
  scope: string,
  except: string | null,
): Promise<void> {
  const left: string[] = [];
  for (const [key, { name, digest, scopes }] of loaded) {
    if (digest === except || !scopes.delete(scope) || scopes.size > 0) continue;
    loaded.delete(key);
    left.push(name);
  }
  await Promise.all(left.map((name) => giveUp(LOADER, name)));
}

/** The scopes that run in isolates. */
export function scopesLoaded(): ReadonlySet<string> {
  return new Set([...loaded.values()].flatMap(({ scopes }) => [...scopes]));
}

/** It does not reject. */
async function giveUp(loader: WorkerLoader, name: string): Promise<void> {
  const worker = loader.get(name, () => {
    throw new Error('it is not loaded');
  });
  const entrypoint = worker.getEntrypoint('Unload') as unknown as { unload(): Promise<never> };
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, GIVE_UP_MS);
  // It ends with its isolate, and never answers.
  await Promise.race([entrypoint.unload().catch(() => undefined), timeout]);
  clearTimeout(timer);
}

/** The longest wait for the end of an isolate. */
const GIVE_UP_MS = 1_000;
/** More than a process may have. */
const PAGES_REFUSED = 65_536;

/**
 * Frees what was given up: the objects that stand for it here hold it. V8 collects them before it refuses memory, and shows
 * no other way to its collector. Where a process may have as much as it likes, they are collected some time.
 */
export function collectGarbage(): void {
  try {
    new WebAssembly.Memory({ initial: PAGES_REFUSED, maximum: PAGES_REFUSED });
  } catch {}
}

function keyOf({ digest, isolate, tenant }: IsolateRef): string {
  return isolate === 'tenant' ? `${digest} ${tenant}` : digest;
}
