/**
 * From a bearer token to the actor it stands for. Nothing is cached: a look-up by hash costs microseconds, and a
 * token that was revoked, or whose tenant was suspended, must not work for one more call.
 */
import type { UnitStub } from '@freehold/store';
import type { HostAdmin } from '../host-admin.ts';
import type { DirectoryMethods } from '../unit.ts';
import { hashSecret, isWellFormedSecret } from './secret.ts';
import { LAST_USE_STEP_MS } from './store.ts';

export interface AuthenticateDeps {
  readonly directory: Pick<UnitStub<DirectoryMethods>, 'tokenActor' | 'touchToken'>;
  readonly now: () => number;
  readonly onIncident: (error: unknown) => void;
}

export function makeAuthenticate({
  directory,
  now,
  onIncident,
}: AuthenticateDeps): HostAdmin['authenticate'] {
  /** Tokens whose last use is being written at this moment. */
  const touching = new Set<string>();

  const touch = (id: string, lastUsedAtMs: number | null): void => {
    if (touching.has(id) || (lastUsedAtMs !== null && now() - lastUsedAtMs < LAST_USE_STEP_MS)) return;
    touching.add(id);
    // Nobody waits for this write; losing one costs a minute of exactness.
    directory
      .touchToken(id)
      .catch(onIncident)
      .finally(() => touching.delete(id));
  };

  return async (token) => {
    if (!isWellFormedSecret(token)) return null;
    const found = await directory.tokenActor(hashSecret(token));
    if (!found) return null;
    touch(found.actor.id, found.lastUsedAtMs);
    return found.actor;
  };
}
