/**
 * The engine port: opens units and moves calls to them (design: architecture). Both engines promise what the
 * contract suite checks: calls to one unit run in the order they were made; a call's writes are all there or none;
 * a call is acknowledged only when they are durable; a failure arrives with its code.
 */
import { type Failure, fromFailure, PlatformError, publicError, toFailure } from '@freehold/contracts';
import type { SqlValue } from './sql-database.ts';
import type { CheckedStatement } from './statement-check.ts';
import type { UnitDefinition, UnitMethods, UnitStub } from './unit.ts';

/** The capabilities of an engine. A call of one that it lacks is answered with `unsupported`, never silently different. */
export interface EngineCapabilities {
  readonly name: 'node' | 'workerd';
  /** Whether a rewind to a point in time is possible. */
  readonly rewind: boolean;
}

export interface UnitOptions {
  /** True creates the unit on its first call. Default false: a unit that was never created is `not_found`. */
  readonly create?: boolean;
}

export interface Engine {
  readonly capabilities: EngineCapabilities;
  /** A stub for one unit. Costs nothing; the unit is opened by its first call. */
  unit<M extends UnitMethods>(definition: UnitDefinition<M>, key: string, options?: UnitOptions): UnitStub<M>;
  /**
   * Registers what is done first when the engine closes, while it still takes calls: what those who use it hold in
   * memory goes back where it came from. The task never rejects. Absent where nothing is closed in order.
   */
  beforeClose?(task: () => Promise<void>): void;
  /** Finishes what was accepted, closes every unit, and refuses everything after with `unavailable`. */
  close(): Promise<void>;
}

/** A call's result as a value: what crosses the boundary of a unit. */
export type Outcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly failure: Failure };

/** Receives unexpected errors: those that were thrown and are no `PlatformError`. It must not throw. */
export type IncidentSink = (
  error: unknown,
  where: { readonly kind: string; readonly key: string; readonly method: string },
) => void;

/** Returns the failure for a thrown value: its own text when it was meant for the caller, `internal` otherwise. */
export function failureOf(thrown: unknown): Failure {
  return toFailure(publicError(thrown));
}

/** Unit keys become file names and object names. */
const UNIT_KEY = /^[a-zA-Z0-9_-]{1,128}$/;

/** @throws TypeError when a key could not be a file name. */
export function assertUnitKey(key: string): void {
  if (!UNIT_KEY.test(key)) throw new TypeError(`not a unit key: ${JSON.stringify(key.slice(0, 40))}`);
}

/** The failure of a call to a unit that was never created. */
export function unknownUnit(kind: string): PlatformError {
  return new PlatformError('not_found', `There is no such ${kind}.`, { reason: 'unknown_unit' });
}

/** The problem for the caller of a write that met a full disk: 503 `unavailable`, reason `storage_full`. */
export function storageFull(cause: unknown): PlatformError {
  return new PlatformError(
    'unavailable',
    'The disk of this platform is full, so nothing of this was stored. Reading still works. Ask the operator to make room, and try again then.',
    { reason: 'storage_full', headers: { 'retry-after': '30' }, cause },
  );
}

/**
 * Builds the typed stub over an engine's way of moving one call. Its methods reject with a `PlatformError`, or
 * with a TypeError when the input is none that could cross the boundary on every engine.
 */
export function makeStub<M extends UnitMethods>(
  call: (method: string, input: unknown) => Promise<Outcome>,
): UnitStub<M> {
  const methods = new Map<string, (input: unknown) => Promise<unknown>>();
  return new Proxy({} as UnitStub<M>, {
    get: (_target, method) => {
      // A stub must not look like a promise, or awaiting it would call a unit's method named `then`.
      if (typeof method !== 'string' || method === 'then') return undefined;
      let invoke = methods.get(method);
      if (!invoke) {
        invoke = async (input) => {
          const outcome = await call(method, plainValue(input));
          if (outcome.ok) return outcome.value;
          throw fromFailure(outcome.failure);
        };
        methods.set(method, invoke);
      }
      return invoke;
    },
  });
}

/** The greatest depth of a value, so that reading it cannot exhaust the stack. */
const DEPTH_MAX = 200;

const MEMBER = { configurable: true, enumerable: true, writable: true };

/**
 * Returns a copy of a value that crosses the boundary of a unit: a caller that changes it does not change the unit's
 * own. Plain objects lose their prototype; bytes stay bytes.
 * @throws TypeError on a value that could not cross on every engine (a Map, a Date, a function); PlatformError
 * `validation_failed` on one that is nested too deep, or in itself.
 */
export function plainValue(value: unknown): unknown {
  return copyOf(value, 0);
}

function copyOf(value: unknown, depth: number): unknown {
  if (depth > DEPTH_MAX)
    throw new PlatformError('validation_failed', `This is nested more than ${DEPTH_MAX} levels deep.`, {
      reason: 'too_deep',
    });
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint')
      throw new TypeError(`a ${typeof value} cannot leave a unit`);
    return value;
  }
  if (Array.isArray(value)) return value.map((item) => copyOf(item, depth + 1));
  if (value instanceof Uint8Array) return value.slice();
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw new TypeError(`an instance of ${prototype.constructor?.name ?? 'a class'} cannot leave a unit`);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const member = copyOf((value as Record<string, unknown>)[key], depth + 1);
    // Assigning to this name would set the prototype instead of a member.
    if (key === '__proto__') Object.defineProperty(copy, key, { ...MEMBER, value: member });
    else copy[key] = member;
  }
  return copy;
}

/**
 * Checks the values for a statement: each driver would bind a missing value, a boolean or undefined in its own way.
 * @throws TypeError on a wrong number of values or one that is not an {@link SqlValue}.
 */
export function assertBindable(statement: CheckedStatement, params: readonly SqlValue[]): void {
  if (params.length !== statement.parameters)
    throw new TypeError(
      `the statement takes ${statement.parameters} values, and ${params.length} were given`,
    );
  for (const param of params) {
    if (typeof param === 'string' || typeof param === 'number' || param === null) continue;
    if (!(param instanceof Uint8Array)) throw new TypeError(`a ${typeof param} cannot be bound`);
  }
}
