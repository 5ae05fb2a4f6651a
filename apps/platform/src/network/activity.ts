/**
 * Counts requests to applications, for the meters, and holds them to the limits. All counts are in this
 * process: a second node of a cluster sees its own alone, so that a tenant has its limits once for each node.
 */
import { PlatformError } from '@freehold/contracts';
import { senderOf } from '@freehold/contracts/http';
import type { Limits } from '../settings/limits.ts';
import type { ServedRequest } from './router.ts';

export interface TenantScope {
  readonly tenant: string;
  readonly scope: string;
}
export interface Use extends TenantScope {
  readonly quantity: number;
}

/** The most requests that wait to be measured. */
const LINES_MAX = 20_000;

/** Methods that only read call no model that a tenant is charged for. */
const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Writes that a full storage does not refuse: people come in and access is taken away (sign-in, sessions, members,
 * invites), and room is made.
 */
const NEVER_FULL =
  /^\/api\/(?:auth|sessions|members|invites|accept-invite|claim|owner)(?:\/|$)|\/(?:remove|erase|revoke|delete)\/?$/;

/** The activity in the scopes of this process. Each call of an application passes here, so that this only counts. */
export class ScopeActivity {
  /** A scope never changes its tenant, so that no entry becomes stale. */
  readonly #tenants = new Map<string, string>();
  #requests = new Map<string, number>();
  #invocations = new Map<string, { readonly vertical: string; quantity: number }>();
  /** Scopes in which a model may have been called since their usage lines were collected. */
  readonly touched = new Map<string, TenantScope>();

  /** The requests that wait to be measured; null where nothing is. */
  #lines: ServedRequest[] | null = null;
  #unmeasured = 0;

  /** An application answered a request. */
  readonly served = (request: ServedRequest): void => {
    const { tenant, scope, method } = request;
    if (this.#lines !== null) {
      if (this.#lines.length < LINES_MAX) this.#lines.push(request);
      else this.#unmeasured += 1;
    }
    this.#tenants.set(scope, tenant);
    this.#requests.set(scope, (this.#requests.get(scope) ?? 0) + 1);
    if (!READS.has(method)) this.touched.set(scope, { tenant, scope });
  };

  /** Returns the listener for operations that a vertical performs. */
  invokedIn(vertical: string): (scope: string) => void {
    return (scope) => this.#count(vertical, scope, 1);
  }

  /** An instance of another process performed operations. */
  readonly invoked = ({ vertical, tenant, scope, quantity }: { readonly vertical: string } & Use): void => {
    this.noteScope(scope, tenant);
    this.#count(vertical, scope, quantity);
  };

  #count(vertical: string, scope: string, quantity: number): void {
    const entry = this.#invocations.get(scope);
    if (entry) entry.quantity += quantity;
    else this.#invocations.set(scope, { vertical, quantity });
  }

  readonly noteScope = (scope: string, tenant: string): void => void this.#tenants.set(scope, tenant);

  /** The tenant of a scope that this process has seen. */
  readonly tenantOf = (scope: string): string | undefined => this.#tenants.get(scope);

  /** From now on each request waits to be measured. */
  measure(): void {
    this.#lines ??= [];
  }

  /** Returns and forgets the requests that wait to be measured, and the number of those that found no room. */
  takeServed(): { readonly lines: readonly ServedRequest[]; readonly dropped: number } {
    const taken = { lines: this.#lines ?? [], dropped: this.#unmeasured };
    if (this.#lines !== null) this.#lines = [];
    this.#unmeasured = 0;
    return taken;
  }

  /** Returns and forgets the requests that were counted. */
  takeRequests(): readonly Use[] {
    const taken = this.#requests;
    this.#requests = new Map();
    return [...taken].map(([scope, quantity]) => ({ tenant: this.tenantOf(scope) ?? '', scope, quantity }));
  }

  /** Returns and forgets the operations that were counted. */
  takeInvocations(): readonly {
    readonly vertical: string;
    readonly scope: string;
    readonly quantity: number;
  }[] {
    const taken = this.#invocations;
    this.#invocations = new Map();
    return [...taken].map(([scope, counted]) => ({ scope, ...counted }));
  }
}

/** A scope that a request reached. */
export interface ServedScope extends TenantScope {
  readonly vertical: string;
}

/** The part of a request that the gate judges. */
export interface Call {
  readonly method: string;
  /** The path of its URL. */
  readonly path: string;
}

const MINUTE_MS = 60_000;
/** The addresses of one minute, each once per tenant, at some hundred bytes; beyond, their counts begin anew. */
const ADDRESSES_MAX = 20_000;
/** The scopes whose limits are remembered. */
const SCOPES_MAX = 10_000;
/** So many refusals within a minute are reported. */
const OFTEN = 100;

/** The limits of a scope at the moment. */
export interface KnownLimits {
  readonly limits: Limits;
  /** The storage that is used up, of the scope or of its tenant; null: it may store more. */
  readonly full: 'bytes' | 'attachments' | null;
  /** When to ask again, in milliseconds since the epoch. */
  readonly untilMs: number;
}

/** A limit that refused a caller. */
export interface LimitHit extends TenantScope {
  readonly of: 'address' | 'scope' | 'tenant';
  readonly what: keyof Limits;
  /** The network address, where the limit is one of an address. */
  readonly address: string | null;
}

export interface RequestGateOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Answers at once, with what is known. */
  readonly limitsOf: (ref: ServedScope) => KnownLimits;
  /** Receives a limit that refused often within a minute, once in that minute. */
  readonly onOften: (hit: LimitHit) => void;
}

/**
 * Admits requests to applications. Each request costs three counters. An address has its limits once at each tenant, so
 * that what it does at one tenant is not judged by another's plan. It never sees a request of the public surface
 * (spec 4.6, 8).
 */
export class RequestGate {
  readonly #options: RequestGateOptions;
  readonly #known = new Map<string, KnownLimits>();
  #minute = 0;
  #counts = newCounts();
  #refused = new Map<string, number>();
  readonly #streams = {
    address: new Map<string, number>(),
    scope: new Map<string, number>(),
    tenant: new Map<string, number>(),
  };

  constructor(options: RequestGateOptions) {
    this.#options = options;
  }

  /** Counts a request. @throws PlatformError `rate_limited`, with `Retry-After`. */
  admit(served: ServedScope, { method, path }: Call, clientAddress: string | null): void {
    const nowMs = this.#options.now();
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#counts = newCounts();
      this.#refused = new Map();
    }
    const { tenant, scope } = served;
    const ref = { tenant, scope };
    const { limits, full } = this.#limitsOf(served, nowMs);
    const leftMs = (minute + 1) * MINUTE_MS - nowMs;
    const address = addressOf(clientAddress);
    const counts = this.#counts;
    if (address !== null) {
      if (counts.address.size > ADDRESSES_MAX) counts.address.clear();
      if (isOver(counts.address, `${tenant} ${address}`, limits.requests.address))
        throw this.#refuse({ ...ref, of: 'address', what: 'requests', address }, leftMs);
    }
    if (isOver(counts.scope, scope, limits.requests.scope))
      throw this.#refuse({ ...ref, of: 'scope', what: 'requests', address: null }, leftMs);
    if (isOver(counts.tenant, tenant, limits.requests.tenant))
      throw this.#refuse({ ...ref, of: 'tenant', what: 'requests', address: null }, leftMs);
    if (full !== null && isAdding({ method, path }))
      throw this.#refuse({ ...ref, of: 'tenant', what: full, address: null }, FULL_RETRY_MS);
  }

  /** Counts an event stream until it ends, and passes every other answer on. @throws PlatformError `rate_limited`. */
  hold(served: ServedScope, clientAddress: string | null, response: Response): Response {
    if (response.body === null || !response.headers.get('content-type')?.startsWith('text/event-stream'))
      return response;
    const { tenant, scope } = served;
    const ref = { tenant, scope };
    const { limits } = this.#limitsOf(served, this.#options.now());
    const address = addressOf(clientAddress);
    const counted = [
      ['address', address === null ? null : `${tenant} ${address}`],
      ['scope', scope],
      ['tenant', tenant],
    ] as const;
    for (const [of, key] of counted) {
      const max = limits.streams[of];
      if (key === null || max === null || (this.#streams[of].get(key) ?? 0) < max) continue;
      response.body.cancel().catch(() => undefined);
      throw this.#refuse(
        { ...ref, of, what: 'streams', address: of === 'address' ? address : null },
        MINUTE_MS,
      );
    }
    const change = (by: 1 | -1): void => {
      for (const [of, key] of counted) if (key !== null) add(this.#streams[of], key, by);
    };
    change(1);
    return new Response(
      whenEnded(response.body, () => change(-1)),
      response,
    );
  }

  #limitsOf(ref: ServedScope, nowMs: number): KnownLimits {
    const known = this.#known.get(ref.scope);
    if (known !== undefined && nowMs < known.untilMs) return known;
    if (this.#known.size >= SCOPES_MAX) this.#known.clear();
    const asked = this.#options.limitsOf(ref);
    this.#known.set(ref.scope, asked);
    return asked;
  }

  #refuse(hit: LimitHit, retryMs: number): PlatformError {
    const key = `${hit.of} ${hit.what} ${hit.of === 'scope' ? hit.scope : hit.tenant} ${hit.address}`;
    if (add(this.#refused, key, 1) === OFTEN) this.#options.onOften(hit);
    const detail = {
      requests: 'There are too many requests at the moment. Try again in a minute.',
      streams: 'Too many streams are open. Close one, and try again.',
      bytes: 'The storage of this application is used up. Remove something, or ask for a larger plan.',
      attachments:
        'This application has as many attachments as it may. Remove some, or ask for a larger plan.',
    }[hit.what];
    return new PlatformError('rate_limited', detail, {
      reason: `too_many_${hit.what}`,
      headers: { 'retry-after': String(Math.max(1, Math.ceil(retryMs / 1_000))) },
    });
  }
}

/** The time after which storage is measured again. */
const FULL_RETRY_MS = 600_000;

function newCounts() {
  return {
    address: new Map<string, number>(),
    scope: new Map<string, number>(),
    tenant: new Map<string, number>(),
  };
}

/**
 * The address that a limit counts by. Null where it is unknown, and for this machine: a proxy on it that is not trusted
 * would make all people one.
 */
function addressOf(clientAddress: string | null): string | null {
  if (clientAddress === null || clientAddress.startsWith('127.') || clientAddress === '::1') return null;
  return clientAddress.includes(':') ? senderOf(clientAddress) : clientAddress;
}

/** Whether a call may store more than it removes. */
function isAdding({ method, path }: Call): boolean {
  return !READS.has(method) && method !== 'DELETE' && !NEVER_FULL.test(path);
}

/** Counts one, unless the count is at its limit: then it answers true. */
function isOver(counts: Map<string, number>, key: string, max: number | null): boolean {
  const used = counts.get(key) ?? 0;
  if (max !== null && used >= max) return true;
  counts.set(key, used + 1);
  return false;
}

function add(counts: Map<string, number>, key: string, by: number): number {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
  return count;
}

/** The same stream; calls back once, when it ended, failed, or its reader left. */
function whenEnded(body: ReadableStream<Uint8Array>, onEnd: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let isOpen = true;
  const end = (): void => {
    if (isOpen) onEnd();
    isOpen = false;
  };
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        end();
        controller.close();
      } catch (error) {
        end();
        controller.error(error);
      }
    },
    cancel: (reason) => {
      end();
      return reader.cancel(reason);
    },
  });
}
