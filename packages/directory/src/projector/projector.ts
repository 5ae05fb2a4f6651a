/**
 * Sends scopes a projection: right after a change, and again where that failed. A change waits for the first scopes; the
 * others follow behind its answer.
 */
import { PlatformError } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { AdminCall } from '../access/actors.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { EffectDeps } from '../lib/effects.ts';
import type { OperationsLog, SweepUnit } from '../operations-log/recorder.ts';
import { askScope } from '../verticals/client.ts';
import { type DeliveryFilter, type OutboxMethods, REPLACING } from './outbox.ts';
import type { Delivery, Projection, QuestionWorld } from './projection.ts';

/** The time limit of one scope: many may be waiting behind it. */
const TIMEOUT_MS = 10_000;
/** The number of scopes that are asked at a time, and that a change waits for. */
const AT_ONCE = 20;

export interface ProjectorWorld extends Pick<EffectDeps, 'gateway' | 'deadline'>, QuestionWorld {
  readonly directory: UnitStub<OutboxMethods>;
  readonly recordSweep: OperationsLog['recordSweep'];
  /** Receives unexpected errors, with the name of the work. */
  readonly incident: (method: string) => (error: unknown) => void;
}

/** The outcome of one delivery. */
export interface Delivered {
  readonly scope: ScopeRecord;
  readonly outcome: 'swept' | 'failed';
  readonly reason: string;
}

export class Projector<Payload> {
  readonly #projection: Projection<Payload>;
  readonly #world: ProjectorWorld;

  constructor(projection: Projection<Payload>, world: ProjectorWorld) {
    this.#projection = projection;
    this.#world = world;
  }

  /**
   * Delivers to every scope that is due. It does not reject for a scope, and may be broken off at any point: a scope that
   * was not reached stays due.
   */
  async *deliver(filter: DeliveryFilter = {}): AsyncGenerator<Delivered, void, undefined> {
    for (let round = await this.#round(filter); round.length > 0; round = await this.#round(filter))
      yield* round;
  }

  /** Enqueues every scope, whatever it has confirmed, and delivers. */
  async *deliverAnew(): AsyncGenerator<Delivered, void, undefined> {
    await this.#world.directory.enqueueEveryScope({ projection: this.#projection.name });
    yield* this.deliver();
  }

  /** Waits for the first scopes only. Does not reject. */
  async deliverFirst(filter: DeliveryFilter): Promise<void> {
    const onError = this.#world.incident(this.#projection.name);
    try {
      const first = await this.#round(filter);
      await this.#record(first);
      if (first.length === AT_ONCE) this.#recordAll(filter).catch(onError);
      // A scope that changed again during its delivery is due again.
      else if (first.length > 0) await this.#record(await this.#round(filter));
    } catch (error) {
      onError(error);
    }
  }

  /** Delivers the change that a call made, or delivers to the scope that it replaced. */
  async deliverAfter(
    { operation, params }: AdminCall,
    { value }: { readonly value?: unknown },
  ): Promise<void> {
    const { changedBy, byTenant } = this.#projection;
    if (changedBy.includes(operation))
      await this.deliverFirst(byTenant ? { tenant: String(params.tenant) } : {});
    if (!REPLACING.includes(operation)) return;
    // Provisioning names its scope in the answer, all others in the path.
    const answered = value as { readonly id?: unknown } | undefined;
    await this.deliverFirst({ scope: String(params.scope ?? answered?.id) });
  }

  async #round(filter: DeliveryFilter): Promise<Delivered[]> {
    const { name } = this.#projection;
    const claimed = await this.#world.directory.claimDeliveries({
      projection: name,
      limit: AT_ONCE,
      ...filter,
    });
    // The unit loaded the payload with this very declaration.
    return Promise.all((claimed as readonly Delivery<Payload>[]).map((each) => this.#send(each)));
  }

  async #send({ scope, revision, payload }: Delivery<Payload>): Promise<Delivered> {
    const { directory, incident } = this.#world;
    const { name } = this.#projection;
    try {
      const question = this.#projection.question(payload, scope, this.#world);
      await askScope(this.#world, scope, { path: 'reconcile', timeoutMs: TIMEOUT_MS, ...question });
    } catch (error) {
      if (!(error instanceof PlatformError)) incident(name)(error);
      const reason = error instanceof PlatformError ? (error.reason ?? error.code) : 'internal';
      await directory.deliveryFailed({ projection: name, scope, reason });
      return { scope, outcome: 'failed', reason };
    }
    await directory.deliveryDone({ projection: name, scope: scope.id, tenant: scope.tenant, revision });
    return { scope, outcome: 'swept', reason: 'projected' };
  }

  async #record(delivered: Iterable<Delivered> | AsyncIterable<Delivered>): Promise<void> {
    if (this.#projection.report === 'sweep-runs') await this.#world.recordSweep(sweepUnits(delivered));
  }

  async #recordAll(filter: DeliveryFilter): Promise<void> {
    if (this.#projection.report === 'sweep-runs') return this.#record(this.deliver(filter));
    for await (const _ of this.deliver(filter));
  }
}

/** The rows of a sweep over deliveries of roles. */
export async function* sweepUnits(
  delivered: Iterable<Delivered> | AsyncIterable<Delivered>,
): AsyncGenerator<SweepUnit, void, undefined> {
  for await (const { scope, outcome, reason } of delivered) {
    const { id, tenant, vertical } = scope;
    yield { kind: 'roles', unit: id, tenant, scope: id, vertical, outcome, reason };
  }
}
