/** What a call of a scope lacks before its handler may run: keys of persons, and fresh keys for the pool. */
import { PlatformError } from '@freehold/contracts';
import type { HeldKeys, SubjectKey } from './vault.ts';
import type { AllottedKey } from './vault-unit.ts';

/** How many fresh keys are wanted, and by which opening of the unit: keys that come for an earlier one are not used. */
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

/** What a host brings along with a call. */
export interface KeySupply {
  readonly keys?: Readonly<Record<string, SubjectKey>>;
  readonly allotment?: Allotment;
}

export const NO_NEEDS: KeyNeeds = { subjects: [], pool: null };

/** What a call is told that lacks keys. */
export const KEYS_NEEDED = 'subject_keys_needed';
const NEEDS_PATH = 'keys';

/** The failure that carries needs to the host. No handler has run, and nothing was written. */
export function keysNeeded(needs: KeyNeeds): PlatformError {
  return new PlatformError(
    'unavailable',
    'The keys of persons are needed for this, and no vault is connected.',
    { reason: KEYS_NEEDED, errors: [{ path: NEEDS_PATH, message: JSON.stringify(needs) }] },
  );
}

export function isKeysNeeded(error: unknown): error is PlatformError {
  return error instanceof PlatformError && error.reason === KEYS_NEEDED;
}

/** The needs that a failure of {@link keysNeeded} carries. */
export function needsOf({ errors = [] }: PlatformError): KeyNeeds {
  const found = errors.find(({ path }) => path === NEEDS_PATH);
  return found ? (JSON.parse(found.message) as KeyNeeds) : NO_NEEDS;
}

/** Both together: each subject once, and of the pools the larger. */
export function joinNeeds(one: KeyNeeds, other: KeyNeeds): KeyNeeds {
  const subjects = new Map([...one.subjects, ...other.subjects].map((each) => [each.subject, each]));
  const count = Math.max(one.pool?.count ?? 0, other.pool?.count ?? 0);
  const opening = one.pool?.opening ?? other.pool?.opening;
  return { subjects: [...subjects.values()], pool: opening === undefined ? null : { opening, count } };
}

export function isNothing({ subjects, pool }: KeyNeeds): boolean {
  return subjects.length === 0 && pool === null;
}

/** The same failure for a caller whom nothing about keys concerns. */
export function noVault(): PlatformError {
  return new PlatformError(
    'unavailable',
    'The keys of persons are needed for this, and no vault is connected.',
    { reason: KEYS_NEEDED },
  );
}
