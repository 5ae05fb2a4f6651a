/** The keys that a call of a scope lacks before its handler may run: keys of persons, and fresh keys for the pool. */
import { PlatformError } from '@freehold/contracts';
import type { HeldKeys, SubjectKey } from './vault.ts';
import type { AllottedKey } from './vault-unit.ts';

/** The number of fresh keys, and the opening of the unit that wants them: keys for an earlier opening are not used. */
export interface PoolNeed {
  readonly opening: string;
  readonly count: number;
}

export interface KeyNeeds {
  readonly subjects: readonly HeldKeys[];
  readonly pool: PoolNeed | null;
}

export interface Allotment {
  readonly opening: string;
  readonly keys: readonly AllottedKey[];
}

/** The keys that a host brings with a call. */
export interface KeySupply {
  readonly keys?: Readonly<Record<string, SubjectKey>>;
  readonly allotment?: Allotment;
}

export const NO_NEEDS: KeyNeeds = { subjects: [], pool: null };

/** The reason of a call that lacks keys. */
export const KEYS_NEEDED = 'subject_keys_needed';
const NEEDS_PATH = 'keys';

/** Returns the failure that carries needs to the host. No handler has run, and nothing was written. */
export function keysNeeded(needs: KeyNeeds): PlatformError {
  return withoutKeys([{ path: NEEDS_PATH, message: JSON.stringify(needs) }]);
}

/** Returns the same failure for a caller, who has nothing to do with keys. */
export function noVault(): PlatformError {
  return withoutKeys();
}

function withoutKeys(errors?: PlatformError['errors']): PlatformError {
  return new PlatformError(
    'unavailable',
    'The keys of persons are needed for this, and no vault is connected.',
    errors === undefined ? { reason: KEYS_NEEDED } : { reason: KEYS_NEEDED, errors },
  );
}

export function isKeysNeeded(error: unknown): error is PlatformError {
  return error instanceof PlatformError && error.reason === KEYS_NEEDED;
}

/** Returns the needs in a failure of {@link keysNeeded}. */
export function needsOf({ errors = [] }: PlatformError): KeyNeeds {
  const found = errors.find(({ path }) => path === NEEDS_PATH);
  return found ? (JSON.parse(found.message) as KeyNeeds) : NO_NEEDS;
}

/** Returns both together: each subject once, and the larger of the pools. */
export function joinNeeds(one: KeyNeeds, other: KeyNeeds): KeyNeeds {
  const subjects = new Map([...one.subjects, ...other.subjects].map((each) => [each.subject, each]));
  const count = Math.max(one.pool?.count ?? 0, other.pool?.count ?? 0);
  const opening = one.pool?.opening ?? other.pool?.opening;
  return { subjects: [...subjects.values()], pool: opening === undefined ? null : { opening, count } };
}

export function isNothing({ subjects, pool }: KeyNeeds): boolean {
  return subjects.length === 0 && pool === null;
}
