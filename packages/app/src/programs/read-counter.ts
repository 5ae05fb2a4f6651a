/**
 * Counts what programs read, and writes it to the tenant's directory at most once a minute for each instance: a read must not
 * cost a write. What is not written yet when the process ends is lost.
 */
import type { IdentityDirectory } from '@freehold/auth';
import type { TenantId } from '@freehold/contracts';
import type { ReadCounter, ReadPlace } from '../declaration/env.ts';

const WRITTEN_EVERY_MS = 60_000;
/** Instances whose counts are held. */
const HELD_MAX = 1_000;

interface Held {
  writtenMs: number;
  /** Grant and operation → calls. */
  counts: Map<string, number>;
}

/** @param onIncident receives a failure to write; the read that was counted does not fail. */
export function makeReadCounter({
  directory,
  now,
  onIncident,
}: {
  readonly directory: (tenant: TenantId) => Pick<IdentityDirectory, 'noteProgramReads'>;
  readonly now: () => number;
  readonly onIncident: (error: unknown, scope: string) => void;
}): ReadCounter {
  const held = new Map<string, Held>();
  const write = async ({ tenant, scope }: ReadPlace): Promise<void> => {
    const own = held.get(scope);
    if (!own || own.counts.size === 0) return;
    const reads = [...own.counts].map(([key, calls]) => {
      const [grant = '', operation = ''] = key.split(' ');
      return { grant, operation, calls };
    });
    own.counts = new Map();
    own.writtenMs = now();
    try {
      await directory(tenant).noteProgramReads({ scopeId: scope, reads });
    } catch (error) {
      onIncident(error, scope);
    }
  };
  return {
    write,
    note: async (place, { grant, operation }) => {
      const own = held.get(place.scope) ?? { writtenMs: Number.NEGATIVE_INFINITY, counts: new Map() };
      held.delete(place.scope);
      held.set(place.scope, own);
      if (held.size > HELD_MAX) held.delete(held.keys().next().value as string);
      const key = `${grant} ${operation}`;
      own.counts.set(key, (own.counts.get(key) ?? 0) + 1);
      if (Math.abs(now() - own.writtenMs) >= WRITTEN_EVERY_MS) await write(place);
    },
  };
}
