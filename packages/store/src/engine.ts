/**
 * The engine port: opens units and moves calls to them (design: architecture). Both engines promise what the
 * contract suite checks: calls to one unit run in the order they were made; a call's writes are all there or none;
 * a call is acknowledged only when they are durable; a failure arrives with its code.
 */
import { type Failure, fromFailure, PlatformError, publicError, toFailure } from '@freehold/contracts';
import { plainValue } from './plain-value.ts';
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

/** The value of whatever was thrown: its own words when it was meant for the caller, `internal` otherwise. */
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
