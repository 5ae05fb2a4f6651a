/** A scope from outside, whose calls are made again when they lack keys that the vault has. */
import type { PlatformError, ScopeId, TenantId } from '@freehold/contracts';
import type { ScopeStub } from '../scope-host.ts';
import { isKeysNeeded } from './subject-keys.ts';
import type { Vault } from './vault.ts';

/** A call can find out one by one which persons it is about; a page of history asks for all of its own at once. */
const TRIES_MAX = 50;

/**
 * Wraps a scope's stub. A call that needs persons' keys is rolled back, the keys are fetched, and it runs again: what
 * its caller sees is one call.
 */
export function withSubjectKeys(stub: ScopeStub, scopeId: ScopeId, vault: Vault): ScopeStub {
  let tenantId: TenantId | undefined;

  const provide = async (error: PlatformError): Promise<void> => {
    tenantId ??= (await stub.identify({})).tenantId;
    const subjects = (error.errors ?? []).map(({ path }) => path);
    await stub.provideKeys({ keys: await vault.keys({ tenantId, scopeId }, subjects) });
  };

  const methods = new Map<string | symbol, unknown>();
  return new Proxy(stub, {
    get: (target, name) => {
      const known = methods.get(name);
      if (known) return known;
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      const again = async (input: unknown): Promise<unknown> => {
        for (let tries = 1; ; tries++) {
          try {
            return await method(input);
          } catch (error) {
            if (!isKeysNeeded(error) || tries >= TRIES_MAX) throw error;
            await provide(error);
          }
        }
      };
      methods.set(name, again);
      return again;
    },
  });
}
