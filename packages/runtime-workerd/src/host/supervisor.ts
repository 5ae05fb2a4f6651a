/**
 * One scope of the vertical: which bundle runs, its object, its alarm, and the moment between two bundles. The bundle's class
 * runs as a facet with a database of its own, so that the supervisor's own records are out of its reach.
 */
import { DurableObject } from 'cloudflare:workers';
import {
  CALL_HEADER,
  decodeCall,
  type HostedCall,
  type InstanceProps,
} from '@freehold/app/worker/capabilities';
import { type Failure, fromFailure, PlatformError, problemDocument, toFailure } from '@freehold/contracts';
import type { Isolate } from '../lib/bundle.ts';
import { loadedFrom } from './bundles.ts';
import { askPlatform, type HostEnv } from './env.ts';
import { type FailedCall, notAnswered, reportFailure } from './failures.ts';
import { rememberInstance } from './instances.ts';
import { enterIsolate, forgetIsolate, leaveIsolates, loadedKinds } from './isolates.ts';
import type { Moved, MoveOrder } from './orders.ts';
import { settingsChanges } from './settings-changes.ts';

/** The object that the bundle's class makes. */
interface InstanceStub {
  fetch(request: Request): Promise<Response>;
  work(): Promise<number | null>;
  open(): Promise<Failure | null>;
}

/** The settings of an instance, from the platform. */
interface Delivered extends Pick<InstanceProps, 'settings' | 'platformSecret' | 'has'> {
  readonly isolate: Isolate;
}

interface Started {
  readonly digest: string;
  readonly instance: InstanceStub;
}

const FACET = 'scope';
/** The name of the running bundle in the supervisor's own storage. */
const RUNNING = 'running';
/** Whose scope it is: known before its own database can be asked. */
const TENANT = 'tenant';
/** The move that has begun: a crash may cut it off between the migration and the record of what runs. */
const MOVING = 'moving';
/** The wait after work that failed. */
const RETRY_MS = 5_000;
/** An instance rests when nothing was asked of it for that long. */
const REST_AFTER_MS = 10_000;
/** The longest wait of a move for the requests that are running, and of new requests for the move. */
const DRAIN_MS = 10_000;

export class Supervisor extends DurableObject<HostEnv> {
  #started: Promise<Started> | null = null;
  /** Requests that the instance has not answered. */
  #inFlight = 0;
  /** When the last request came. */
  #usedAtMs = 0;
  #onDrained: (() => void) | null = null;
  /** Resolves when a bundle runs again; null while requests pass. */
  #moving: Promise<void> | null = null;
  /** When the alarm rings, in milliseconds since the epoch; null where none is set. */
  #alarmAtMs: number | null = null;
  #working: Promise<void> | null = null;
  #again = false;
  /** The number of ends of the instance. */
  #stops = 0;
  /** The number of changes of the settings before the instance asked for them. */
  #settledAt = 0;

  constructor(ctx: DurableObjectState, env: HostEnv) {
    super(ctx, env);
    // An object that rested is made anew, and its alarm is still set.
    void ctx.blockConcurrencyWhile(async () => {
      this.#alarmAtMs = await ctx.storage.getAlarm();
    });
    const cutOff = ctx.storage.kv.get<MoveOrder>(MOVING);
    if (cutOff !== undefined) void this.#settle(cutOff);
  }

  override async fetch(request: Request): Promise<Response> {
    try {
      if (this.#isOutdated()) await this.#renew();
      if (this.#moving !== null) await this.#waitForMove();
      // From here on a move waits for this request, its start included.
      this.#inFlight++;
      this.#usedAtMs = Date.now();
      try {
        const { instance } = await (this.#started ?? this.#start(callOf(request)));
        if (request.method !== 'GET' && request.method !== 'HEAD') this.#arm();
        return this.#passing(await instance.fetch(request));
      } catch (error) {
        this.#passed();
        throw error;
      }
    } catch (error) {
      if (error instanceof PlatformError) return problemDocument(error);
      const { tenant, scope } = callOf(request);
      return problemDocument(this.#broken(error, { tenant, scope, method: 'fetch' }));
    }
  }

  /** A request is over when the last byte of its answer is. */
  #passing(response: Response): Response {
    if (response.body === null || response.webSocket !== null) {
      this.#passed();
      return response;
    }
    // A stream without a known length would lose the header. That of a compressed body is another one: it is unpacked here.
    const { headers } = response;
    const length = headers.has('content-encoding') ? null : headers.get('content-length');
    const { readable, writable } =
      length === null ? new IdentityTransformStream() : new FixedLengthStream(Number(length));
    void response.body.pipeTo(writable).then(
      () => this.#passed(),
      () => this.#passed(),
    );
    return new Response(readable, response);
  }

  #passed(): void {
    this.#inFlight--;
    if (this.#inFlight === 0) this.#onDrained?.();
  }

  /** The digest of the bundle that runs, or null. */
  running(): string | null {
    return this.ctx.storage.kv.get<string>(RUNNING) ?? null;
  }

  /** The same, once it is certain. */
  async runningNow(): Promise<string | null> {
    while (this.#moving !== null) await this.#moving;
    return this.running();
  }

  /** Work was enqueued. It is done soon; {@link #arm} made sure that it is done after a crash too. */
  wake(): void {
    this.#work();
  }

  override async alarm(): Promise<void> {
    this.#alarmAtMs = null;
    this.#work();
    await this.#working;
  }

  /** Lets the scope run another bundle. One that cannot open the scope leaves the one before in its place. */
  async move(order: MoveOrder): Promise<Moved> {
    const moved = await this.#holding(() => this.#move(order));
    await this.#leaveOthers();
    return moved;
  }

  async #move(order: MoveOrder): Promise<Moved> {
    const { tenant, digest } = order;
    const { kv } = this.ctx.storage;
    const from = this.running();
    if (from === digest) return { from, running: from, failure: null };
    await this.#drained();
    kv.put(MOVING, order);
    await this.ctx.storage.sync();
    const failure = await this.#openWith(digest, tenant);
    if (failure !== null) this.#stop('the bundle before it goes on');
    this.#record(failure === null ? order : null);
    return { from, running: this.running(), failure };
  }

  /**
   * Finds out how a move ended that a crash cut off: the bundle before goes on, unless the scope was migrated by then. It is
   * asked first, since the other one may be what ended the process.
   */
  async #settle(order: MoveOrder): Promise<void> {
    await this.#holding(async () => {
      const before = this.running();
      const failure = before === null ? null : await this.#openWith(before, order.tenant);
      this.#record(failure?.reason === 'migration_unknown' ? order : null);
      this.#stop('it starts with what runs from now on');
    });
    await this.#leaveOthers();
  }

  /** Ends a move. @param order what runs from now on; null for the bundle before. */
  #record(order: MoveOrder | null): void {
    const { kv } = this.ctx.storage;
    kv.delete(MOVING);
    if (order === null) return;
    kv.put(TENANT, order.tenant);
    kv.put(RUNNING, order.digest);
  }

  /** Gives up what it ran before, where no other scope does. */
  #leaveOthers(): Promise<void> {
    return leaveIsolates(this.env, this.ctx.id.name ?? '', this.running());
  }

  /** Whether new requests wait for a change, and the change for those that are running. */
  isChanging(): boolean {
    return this.#moving !== null;
  }

  /** Holds new requests until a change is done. */
  async #holding<T>(change: () => Promise<T>): Promise<T> {
    while (this.#moving !== null) await this.#moving;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#moving = promise;
    try {
      return await change();
    } finally {
      this.#moving = null;
      resolve();
    }
  }

  #isOutdated(): boolean {
    return this.#started !== null && this.#settledAt !== settingsChanges();
  }

  /** Ends an instance that started with former settings, after the requests that are running. */
  #renew(): Promise<void> {
    return this.#holding(async () => {
      if (!this.#isOutdated()) return;
      await this.#drained();
      this.#stop('its settings changed');
    });
  }

  /** Ends the instance, which starts again with its present settings at the next request. */
  restart(): void {
    this.#stop('it starts again');
  }

  /** Ends the instance where nothing is asked of it for a while. Its next request, or due work, starts it again. */
  async rest(): Promise<void> {
    const isUsed = this.#inFlight > 0 || this.#moving !== null || this.#working !== null;
    if (isUsed || Date.now() - this.#usedAtMs < REST_AFTER_MS) return;
    this.#stop('it rests');
    await leaveIsolates(this.env, this.ctx.id.name ?? '', null);
  }

  /** Forgets the scope, its database included. */
  async remove(): Promise<void> {
    this.#stop('it is removed');
    this.ctx.facets.delete(FACET);
    await Promise.all([this.ctx.storage.deleteAll(), this.ctx.storage.deleteAlarm()]);
    this.#alarmAtMs = null;
    await leaveIsolates(this.env, this.ctx.id.name ?? '', null);
  }

  /** Opens the scope with a bundle, which migrates it. Returns the failure that prevented it. */
  async #openWith(digest: string, tenant: string): Promise<Failure | null> {
    const owner = this.ctx.storage.kv.get<string>(TENANT);
    if (owner !== undefined && owner !== tenant) return toFailure(notThere());
    this.#stop('another bundle follows');
    const scope = this.ctx.id.name ?? '';
    try {
      const started = this.#run(digest, { tenant, scope });
      const failure = await (await started).instance.open();
      if (failure !== null && failure.reason !== 'unknown_unit') return failure;
      this.#started = started;
      return null;
    } catch (error) {
      return toFailure(this.#broken(error, { tenant, scope, method: 'open' }));
    }
  }

  async #start({ tenant, scope, serving }: HostedCall): Promise<Started> {
    if (this.#started !== null) return this.#started;
    const { kv } = this.ctx.storage;
    const digest = kv.get<string>(RUNNING) ?? serving;
    if (digest === null)
      throw new PlatformError('unavailable', 'No version of this application serves yet.', {
        reason: 'nothing_deployed',
      });
    const owner = kv.get<string>(TENANT);
    if (owner !== undefined && owner !== tenant) throw notThere();
    if (kv.get(RUNNING) === undefined) {
      kv.put(TENANT, tenant);
      kv.put(RUNNING, digest);
    }
    const started = this.#run(digest, { tenant, scope });
    this.#started = started;
    started.catch(() => {
      if (this.#started === started) this.#started = null;
    });
    return started;
  }

  async #run(
    digest: string,
    instance: { readonly tenant: string; readonly scope: string },
  ): Promise<Started> {
    const stops = this.#stops;
    rememberInstance(this.ctx.id.toString(), instance);
    this.#settledAt = settingsChanges();
    const { isolate, ...delivered } = await this.#settings(digest, instance);
    // Another bundle may run by now: this one would take its place.
    if (stops !== this.#stops) throw beingMoved();
    const { LOADER } = this.env;
    const { exports } = this.ctx;
    const ref = { digest, isolate, tenant: instance.tenant };
    // Instances of one name share the variables of their modules.
    const name = enterIsolate(instance.scope, ref);
    const worker = LOADER.get(name, () =>
      loadedFrom(this.env, digest, {
        outbound: exports.Egress({ props: { digest } }),
        tail: exports.Tail({ props: { digest } }),
      }).catch((error: unknown) => {
        forgetIsolate(ref, name);
        throw error;
      }),
    );
    const props: InstanceProps = {
      ...instance,
      ...delivered,
      platform: exports.Platform({ props: instance }),
    };
    const facet = this.ctx.facets.get(FACET, () => ({
      class: worker.getDurableObjectClass('Instance', { props }),
      id: this.ctx.id,
    }));
    return { digest, instance: facet as unknown as InstanceStub };
  }

  async #settings(
    digest: string,
    instance: { readonly tenant: string; readonly scope: string },
  ): Promise<Delivered> {
    const asked = new URLSearchParams({ bundle: digest });
    for (const isolate of loadedKinds({ digest, tenant: instance.tenant })) asked.append('loaded', isolate);
    const response = await askPlatform(this.env, `/settings?${asked}`, instance);
    const answer = await response.json();
    if (!response.ok) throw fromFailure(answer as Failure);
    return answer as Delivered;
  }

  #stop(why: string): void {
    this.#started = null;
    this.#stops++;
    this.ctx.facets.abort(FACET, new Error(why));
  }

  async #drained(): Promise<void> {
    if (this.#inFlight === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onDrained = resolve;
    const timer = setTimeout(resolve, DRAIN_MS);
    await promise;
    clearTimeout(timer);
    this.#onDrained = null;
  }

  async #waitForMove(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, DRAIN_MS);
    await Promise.race([this.#moving, promise]);
    clearTimeout(timer);
    if (this.#moving !== null) throw beingMoved();
  }

  /**
   * Sets the alarm by which a crash loses no due work, unless one is set that rings by then. The answer leaves the object
   * only after the alarm is durable (the output gate).
   */
  #arm(): void {
    const recoverAtMs = Date.now() + Number(this.env.RECOVER_MS);
    // One that is due stays: put off again and again, it would never ring.
    if (this.#alarmAtMs !== null && this.#alarmAtMs <= recoverAtMs) return;
    this.#alarmAtMs = recoverAtMs;
    void this.ctx.storage.setAlarm(recoverAtMs);
  }

  #work(): void {
    if (this.#working !== null) {
      this.#again = true;
      return;
    }
    this.#working = this.#rounds().finally(() => {
      this.#working = null;
    });
  }

  async #rounds(): Promise<void> {
    do {
      this.#again = false;
      const nextAtMs = await this.#round();
      if (nextAtMs === null) continue;
      if (nextAtMs <= Date.now()) this.#again = true;
      else if (this.#alarmAtMs === null || nextAtMs < this.#alarmAtMs) {
        this.#alarmAtMs = nextAtMs;
        await this.ctx.storage.setAlarm(nextAtMs);
      }
    } while (this.#again);
  }

  async #round(): Promise<number | null> {
    if (this.#isOutdated()) await this.#renew();
    while (this.#moving !== null) await this.#moving;
    const tenant = this.ctx.storage.kv.get<string>(TENANT);
    if (tenant === undefined) return null;
    const scope = this.ctx.id.name ?? '';
    this.#inFlight++;
    try {
      const anonymous = { serving: null, node: null, clientAddress: null, caller: null };
      const call = { tenant, scope, ...anonymous };
      const { instance } = await this.#start(call);
      return await instance.work();
    } catch (error) {
      if (!(error instanceof PlatformError))
        reportFailure(this.env, this.ctx, { tenant, scope, method: 'work' }, error);
      return Date.now() + RETRY_MS;
    } finally {
      this.#passed();
    }
  }

  /** A facet that was aborted, or that failed, starts anew with the next request. The operator is told why. */
  #broken(error: unknown, call: FailedCall): PlatformError {
    reportFailure(this.env, this.ctx, call, error);
    this.#started = null;
    return notAnswered(error);
  }
}

function callOf(request: Request): HostedCall {
  return decodeCall(request.headers.get(CALL_HEADER) ?? '');
}

/** Also for the scope of another tenant. */
function notThere(): PlatformError {
  return new PlatformError('not_found', 'There is no application at this address.');
}

function beingMoved(): PlatformError {
  return new PlatformError('unavailable', 'This is being moved to another version. Try again in a moment.', {
    reason: 'being_moved',
    headers: { 'retry-after': '5' },
  });
}
