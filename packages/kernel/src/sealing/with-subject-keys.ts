/** A scope from outside, whose calls are made again when they lack what the vault knows. */
import { PlatformError, type ScopeId, type TenantId } from '@freehold/contracts';
import type { ScopeStub } from '../scope-host.ts';
import { isErasuresUnseen } from './pending-erasures.ts';
import { isKeysNeeded } from './subject-keys.ts';
import type { Vault } from './vault.ts';

/** A call can find out one by one which persons it is about; a page of history asks for all of its own at once. */
const TRIES_MAX = 50;

/** The methods that run handlers, whose ids must be the same in each try. */
const TRIED: readonly unknown[] = ['invoke', 'work'] satisfies (keyof ScopeStub)[];

export interface KeyedScope {
  readonly scopeId: ScopeId;
  readonly vault: Vault;
  /** A name for the tries of one call, which no other call has. */
  readonly newCall: () => string;
}

/**
 * Wraps a scope's stub. A call that needs persons' keys is rolled back, the keys are fetched, and it runs again: what
 * its caller sees is one call. The same goes for one that finds an older state: the vault is asked who was erased since.
 */
export function withSubjectKeys(stub: ScopeStub, { scopeId, vault, newCall }: KeyedScope): ScopeStub {
  let tenantId: TenantId | undefined;

  const provide = async (error: PlatformError): Promise<void> => {
    tenantId ??= (await stub.latecomers({})).tenantId;
    const subjects = (error.errors ?? []).map(({ path }) => path);
    await stub.provideKeys({ keys: await vault.keys({ tenantId, scopeId }, subjects).catch(refuse) });
  };

  const redactPendingErasures = async (): Promise<void> => {
    const { tenantId, mark } = await stub.latecomers({});
    if (mark === null) return;
    await stub.redactLatecomers({ mark, receipts: await vault.shredded({ tenantId, scopeId }) });
  };

  const methods = new Map<string | symbol, unknown>();
  return new Proxy(stub, {
    get: (target, name) => {
      const known = methods.get(name);
      if (known) return known;
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      const again = async (given: object): Promise<unknown> => {
        const input = TRIED.includes(name) ? { ...given, call: newCall() } : given;
        for (let tries = 1; ; tries++) {
          try {
            return await method(input);
          } catch (error) {
            if (tries >= TRIES_MAX) throw error;
            if (isErasuresUnseen(error)) await redactPendingErasures();
            else if (isKeysNeeded(error)) await provide(error);
            else throw error;
          }
        }
      };
      methods.set(name, again);
      return again;
    },
  });
}

/** Failures of a vault that is there and cannot give a key, and not of one that is out of reach for a while. */
const refusals = new WeakSet<object>();

function refuse(error: unknown): never {
  const isPassing = error instanceof PlatformError && error.code === 'unavailable';
  if (!isPassing && typeof error === 'object' && error !== null) refusals.add(error);
  throw error;
}

/** Whether a call failed because the vault cannot give it a person's key. */
export function areKeysRefused(error: unknown): boolean {
  return typeof error === 'object' && error !== null && refusals.has(error);
}
