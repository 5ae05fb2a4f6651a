/** A Durable Object that hosts one unit, with the same group commit as everywhere (store: `group.ts`). */
import { DurableObject } from 'cloudflare:workers';
import { PlatformError } from '@freehold/contracts';
import {
  assertUnitKey,
  failureOf,
  type GuardOptions,
  type IncidentSink,
  makeStub,
  type Outcome,
  openUnit,
  type RunningUnit,
  type SqlDatabase,
  type UnitDefinition,
  type UnitHost,
  type UnitMethods,
  type UnitOptions,
  type UnitStub,
} from '@freehold/store';
import { makeAlarm } from './alarm.ts';
import { keeperMethods, keeperName, keeperOf } from './keeper.ts';
import { durableDatabase } from './lib/durable-database.ts';
import { type PointInTime, runtimeHistory, type Ticket } from './tools/history.ts';
import { isForClosed, makeObjectMethods, type ToolMethods } from './tools/object-methods.ts';
import type { ToolOutcome } from './tools/unit-tools.ts';

/** The longest wait of a call for a copy, in milliseconds. */
const HELD_MAX_MS = 10_000;
const LATE = Symbol('late');

/** The default limit of a copy, as text. */
const COPY_BYTES_MAX = 64 * 1_024 * 1_024;

/**
 * The unit's own work: called when it was woken, and when its time has come. Returns the time of the next call, in
 * milliseconds since the epoch (at once when that has passed), or null: not before it is woken.
 */
export type UnitWork<M extends UnitMethods> = (unit: UnitStub<M>, key: string) => Promise<number | null>;

/** The runtime's history of objects, by which one can be rewound. */
export interface UnitHistoryOptions {
  /** The namespace of these objects themselves: a second object of it remembers a rewind. */
  readonly namespace: (env: Cloudflare.Env) => DurableObjectNamespace<UnitObject>;
  /** Default: the history of the object's storage. */
  readonly pointInTime?: (storage: DurableObjectStorage, key: string) => PointInTime;
}

export interface UnitObjectOptions<M extends UnitMethods = UnitMethods> {
  /** Receives unexpected errors. */
  readonly onIncident: IncidentSink;
  /** Default: the system's clock, in milliseconds. */
  readonly now?: () => number;
  /** Default: the system's cryptographic source. */
  readonly random?: (bytes: number) => Uint8Array;
  /** Default: the unit has no work of its own. */
  readonly work?: UnitWork<M>;
  /** Default: no rewind. */
  readonly history?: UnitHistoryOptions;
  /** The largest copy, as text. Default 64 MiB: the object does nothing else while one is written or restored. */
  readonly copyBytesMax?: number;
}

/** The object's methods for the engine, over RPC. */
export interface UnitObject extends Rpc.DurableObjectBranded {
  call(method: string, input: unknown, options: UnitOptions): Promise<Outcome>;
  tool(tool: string, input: unknown): Promise<ToolOutcome>;
  alarm(): Promise<void>;
}

/** The object of a definition. */
export interface WorkingObject {
  /** The props that the object was made with, as `getDurableObjectClass` of a loaded worker takes them. */
  readonly props: unknown;
  /** Has `work` called soon, and also when the object dies before. Costs nothing. */
  wake(): void;
}

/**
 * Makes the class to export from a worker and to bind as a SQLite-backed Durable Object namespace. The object's name
 * is the unit's key.
 * A call is answered after its group's transaction, and the answer leaves the object only when that is durable:
 * workerd holds back an object's messages until its writes are (the output gate). When they cannot be made durable,
 * the object is discarded with its memory, and the caller gets `unavailable`.
 * @param definition the unit, or a function that makes it for one object that it can wake.
 */
export function makeUnitObject<M extends UnitMethods>(
  definition: UnitDefinition<M> | ((object: WorkingObject) => UnitDefinition<M>),
  options: UnitObjectOptions<M>,
): new (
  ctx: DurableObjectState,
  env: Cloudflare.Env,
) => DurableObject & UnitObject {
  const { now = Date.now, onIncident } = options;

  return class extends DurableObject implements UnitObject {
    readonly #key = this.ctx.id.name ?? '';
    readonly #definition =
      typeof definition === 'function'
        ? definition({ props: this.ctx.props, wake: () => this.#alarm?.wake() })
        : definition;
    readonly #alarm = options.work && makeAlarm(this.ctx.storage, now);
    #unit: RunningUnit | undefined;
    #methods: ToolMethods | undefined;
    /** Ends when the copy that is being written or loaded lets calls pass; null while they pass. */
    #held: Promise<unknown> | null = null;
    /** The record of a running rewind. While it is set, the unit is closed. */
    #ticket: Ticket | null = null;

    constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
      super(ctx, env);
      const { history } = options;
      if (!history || !isUnitKey(this.#key)) return;
      // The object answers no call before it knows whether a rewind is running.
      void ctx.blockConcurrencyWhile(async () => {
        const keeper = keeperOf(history.namespace(env), this.#key);
        const ticket = await keeper.find();
        if (ticket?.isUndoing) await keeper.drop();
        else this.#ticket = ticket;
      });
    }

    async call(method: string, input: unknown, unitOptions: UnitOptions): Promise<Outcome> {
      try {
        if (this.#held) await this.#passing();
        this.#open(unitOptions);
      } catch (error) {
        this.#report(error, method);
        return { ok: false, failure: failureOf(error) };
      }
      return (this.#unit as RunningUnit).call(method, input);
    }

    async tool(tool: string, input: unknown): Promise<ToolOutcome> {
      try {
        const methods = this.#key.startsWith(keeperName(''))
          ? keeperMethods(this.ctx.storage.kv)
          : this.#tools();
        const method = Object.hasOwn(methods, tool) ? methods[tool as keyof typeof methods] : undefined;
        if (!method) throw new TypeError(`there is no tool ${tool}`);
        while (this.#held) await this.#held;
        if (!isForClosed(tool)) this.#requireOpen();
        return { ok: true, value: await (method as (input: unknown) => unknown)(input) };
      } catch (error) {
        this.#report(error, tool);
        return { ok: false, failure: failureOf(error) };
      }
    }

    override async alarm(): Promise<void> {
      const { work } = options;
      if (!work || !this.#alarm) return;
      const stub = makeStub<M>((method, input) => this.call(method, input, {}));
      await this.#alarm.ring(
        () => work(stub, this.#key),
        (error) => this.#report(error, 'alarm'),
      );
    }

    /** Opening is synchronous, so however many first calls arrive, the unit is opened once. */
    #open(unitOptions: UnitOptions): void {
      assertUnitKey(this.#key);
      this.#requireOpen();
      if (this.#unit) return;
      this.#unit = openUnit(this.#definition, hostOf(this.ctx.storage, this.#key, options), unitOptions);
      // The unit's work may have changed with its code, or have been lost in a restore.
      this.#alarm?.ensure();
    }

    #tools(): ToolMethods {
      assertUnitKey(this.#key);
      const { history, copyBytesMax = COPY_BYTES_MAX } = options;
      const { storage } = this.ctx;
      this.#methods ??= makeObjectMethods({
        storage,
        definition: this.#definition,
        key: this.#key,
        copyBytesMax,
        now,
        history: history
          ? {
              pointInTime: history.pointInTime?.(storage, this.#key) ?? runtimeHistory(storage),
              keeper: keeperOf(history.namespace(this.env), this.#key),
            }
          : null,
        settle: () => this.#unit?.drain(),
        hold: (work) => this.#hold(work),
        forget: () => {
          this.#unit?.end();
          this.#unit = undefined;
        },
        ticket: {
          get: () => this.#ticket,
          set: (ticket) => {
            this.#ticket = ticket;
          },
        },
        leave: () => this.ctx.abort('the object restarts in another state'),
      });
      return this.#methods;
    }

    /** The work writes in one transaction, or reads one moment: a call in between would be in it. */
    async #hold<T>(work: () => Promise<T>): Promise<T> {
      while (this.#held) await this.#held;
      this.#unit?.drain();
      const done = work();
      const held = done.then(
        () => undefined,
        () => undefined,
      );
      this.#held = held;
      try {
        return await done;
      } finally {
        this.#held = null;
      }
    }

    async #passing(): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, HELD_MAX_MS);
      while (this.#held && (await Promise.race([this.#held, promise.then(() => LATE)])) !== LATE);
      clearTimeout(timer);
      if (this.#held)
        throw new PlatformError(
          'unavailable',
          'A copy of this is being made or restored. Try again in a moment.',
          {
            reason: 'being_copied',
            headers: { 'retry-after': '5' },
          },
        );
    }

    #requireOpen(): void {
      if (!this.#ticket) return;
      throw new PlatformError('unavailable', 'This is being rewound. Try again in a moment.', {
        reason: 'being_rewound',
        headers: { 'retry-after': '5' },
      });
    }

    #report(error: unknown, method: string): void {
      if (isExpected(error)) return;
      onIncident(causeOf(error), { kind: this.#definition.kind, key: this.#key, method });
    }
  };
}

/** The operator must learn of a unit that cannot be opened, though its caller gets a public text. */
function isExpected(error: unknown): boolean {
  if (!(error instanceof PlatformError)) return false;
  const isAnswer = error.code === 'unsupported' || error.code === 'unavailable';
  return error.status < 500 || (isAnswer && error.cause === undefined);
}

function isUnitKey(name: string): boolean {
  try {
    assertUnitKey(name);
    return true;
  } catch {
    return false;
  }
}

function hostOf(
  storage: DurableObjectStorage,
  key: string,
  options: Pick<UnitObjectOptions, 'now' | 'random' | 'onIncident'>,
): UnitHost {
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
