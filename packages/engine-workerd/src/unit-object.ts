/** A Durable Object that hosts one unit, with the same group commit as everywhere (store: `group.ts`). */
import { DurableObject } from 'cloudflare:workers';
import { PlatformError } from '@freehold/contracts';
import {
  assertUnitKey,
  failureOf,
  type GuardOptions,
  type IncidentSink,
  type Outcome,
  openUnit,
  type RunningUnit,
  type SqlDatabase,
  type UnitDefinition,
  type UnitHost,
  type UnitMethods,
  type UnitOptions,
} from '@freehold/store';
import { durableDatabase } from './durable-database.ts';

export interface UnitObjectOptions {
  /** Receives errors that nobody expected. */
  readonly onIncident: IncidentSink;
  /** Default: the system's clock, in milliseconds. */
  readonly now?: () => number;
  /** Default: the system's cryptographic source. */
  readonly random?: (bytes: number) => Uint8Array;
}

/** What the engine asks of the object, over RPC. */
export interface UnitObject extends Rpc.DurableObjectBranded {
  call(method: string, input: unknown, options: UnitOptions): Promise<Outcome>;
}

/**
 * Makes the class to export from a worker and to bind as a SQLite-backed Durable Object namespace. The object's
 * name is the unit's key.
 *
 * A call is answered after its group's transaction, and the answer leaves the object only when that is durable:
 * workerd holds back whatever an object sends until its writes are (the output gate). When they cannot be made
 * durable, the object is discarded with everything it had in memory, and the caller hears `unavailable`.
 */
export function makeUnitObject<M extends UnitMethods>(
  definition: UnitDefinition<M>,
  options: UnitObjectOptions,
): new (
  ctx: DurableObjectState,
  env: Cloudflare.Env,
) => DurableObject & UnitObject {
  return class extends DurableObject implements UnitObject {
    #unit: RunningUnit | undefined;

    async call(method: string, input: unknown, unitOptions: UnitOptions): Promise<Outcome> {
      const key = this.ctx.id.name ?? '';
      try {
        assertUnitKey(key);
        // Opening is synchronous, so however many first calls arrive, the unit is opened once.
        this.#unit ??= openUnit(definition, hostOf(this.ctx.storage, key, options), unitOptions);
      } catch (error) {
        // A unit that cannot be opened is for the operator to know too, though its caller is told in our words.
        const isExpected = error instanceof PlatformError && error.status < 500;
        if (!isExpected) options.onIncident(causeOf(error), { kind: definition.kind, key, method });
        return { ok: false, failure: failureOf(error) };
      }
      return this.#unit.call(method, input);
    }
  };
}

function hostOf(storage: DurableObjectStorage, key: string, options: UnitObjectOptions): UnitHost {
  const { now = Date.now, random = randomBytes, onIncident } = options;
  const views = new Map<string, SqlDatabase>();
  return {
    key,
    db: durableDatabase(storage, null),
    guarded: (guard: GuardOptions) => {
      const name = `${guard.readOnly} ${guard.protectedPrefix}`;
      const view = views.get(name) ?? durableDatabase(storage, guard);
      views.set(name, view);
      return view;
    },
    transact: (work) => storage.transactionSync(work),
    schedule: (task) => void setTimeout(task, 0),
    now,
    random,
    onIncident,
  };
}

function randomBytes(bytes: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(bytes));
}

function causeOf(error: unknown): unknown {
  return error instanceof PlatformError ? (error.cause ?? error) : error;
}
