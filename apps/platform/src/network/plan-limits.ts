/** The limits of each scope, by the plan of its tenant and what it stores. They are read in the background: no request waits. */
import type { LimitSettings, Limits } from '../settings/limits.ts';
import type { KnownLimits, ServedScope } from './activity.ts';

/** The storage of a scope. */
export interface Stored {
  readonly bytes: number;
  readonly attachments: number;
}

export interface PlanLimitsOptions {
  readonly settings: LimitSettings;
  /** The plan of a tenant's entitlement `platform`; null for none, and for one that has ended. */
  readonly planOf: (tenant: string) => Promise<string | null>;
  /** Measures a scope. Opens no database. */
  readonly storedOf: (ref: ServedScope) => Promise<Stored>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Receives each failed reading; what was known before goes on. */
  readonly onError: (error: unknown, ref: ServedScope) => void;
}

/** A change of a plan takes effect within this time. */
const PLAN_MS = 300_000;
const STORED_MS = 600_000;
/** A measure may take at most this share of the time: a scope with very many attachments is measured less often. */
const MEASURE_SHARE = 0.01;
/** A full tenant's other scopes are looked through once in this time. */
const SWEEP_MS = 60_000;
/** The time after which the outcome of a reading is looked for. */
const READING_MS = 1_000;
/** Tenants and scopes that are remembered, at some hundred bytes each; beyond, all are read anew. */
const KEPT_MAX = 20_000;

const NOTHING: Stored = { bytes: 0, attachments: 0 };

interface Reading<T> {
  readonly ref: ServedScope;
  value: T;
  dueAtMs: number;
}

/** The sum of the scopes of a tenant. */
interface Total extends Stored {
  sweepAtMs: number;
}

export class PlanLimits {
  readonly #options: PlanLimitsOptions;
  readonly #plans = new Map<string, Reading<Limits>>();
  readonly #stored = new Map<string, Reading<Stored>>();
  readonly #totals = new Map<string, Total>();

  constructor(options: PlanLimitsOptions) {
    this.#options = options;
  }

  /** Returns the limits that are known at the moment; a reading that is due begins. */
  readonly of = (ref: ServedScope): KnownLimits => {
    const { settings, now } = this.#options;
    const nowMs = now();
    const plan =
      this.#plans.get(ref.tenant) ?? this.#add(this.#plans, ref.tenant, { ref, value: settings.default });
    const stored = this.#stored.get(ref.scope) ?? this.#add(this.#stored, ref.scope, { ref, value: NOTHING });
    if (nowMs >= plan.dueAtMs) void this.#readPlan(ref, plan);
    const limits = plan.value;
    const isBounded = [limits.bytes, limits.attachments].some(
      ({ scope, tenant }) => scope !== null || tenant !== null,
    );
    if (isBounded && nowMs >= stored.dueAtMs) void this.#measure(ref, stored);
    const full = this.#fullOf(ref, limits);
    if (full !== null) void this.#sweep(ref.tenant);
    return { limits, full, untilMs: nowMs + READING_MS };
  };

  #add<T>(
    readings: Map<string, Reading<T>>,
    key: string,
    { ref, value }: Pick<Reading<T>, 'ref' | 'value'>,
  ): Reading<T> {
    if (readings.size >= KEPT_MAX) for (const each of [readings, this.#stored, this.#totals]) each.clear();
    const added = { ref, value, dueAtMs: 0 };
    readings.set(key, added);
    return added;
  }

  async #readPlan(ref: ServedScope, reading: Reading<Limits>): Promise<void> {
    const { settings, planOf, now, onError } = this.#options;
    reading.dueAtMs = now() + PLAN_MS;
    if (Object.keys(settings.plans).length === 0) return;
    try {
      const plan = await planOf(ref.tenant);
      reading.value = (plan === null ? undefined : settings.plans[plan]) ?? settings.default;
    } catch (error) {
      onError(error, ref);
    }
  }

  async #measure(ref: ServedScope, reading: Reading<Stored>): Promise<void> {
    const { storedOf, now, onError } = this.#options;
    const startedAtMs = now();
    // Not before this one has ended.
    reading.dueAtMs = Number.POSITIVE_INFINITY;
    try {
      const stored = await storedOf(ref);
      // Otherwise it was forgotten meanwhile, and with it the sum.
      if (this.#stored.get(ref.scope) !== reading) return;
      const sum = this.#totals.get(ref.tenant) ?? { ...NOTHING, sweepAtMs: 0 };
      this.#totals.set(ref.tenant, {
        ...sum,
        bytes: sum.bytes + stored.bytes - reading.value.bytes,
        attachments: sum.attachments + stored.attachments - reading.value.attachments,
      });
      reading.value = stored;
    } catch (error) {
      onError(error, ref);
    } finally {
      const endedAtMs = now();
      reading.dueAtMs = endedAtMs + Math.max(STORED_MS, (endedAtMs - startedAtMs) / MEASURE_SHARE);
    }
  }

  /** Measures the due scopes of a full tenant, one by one: one that was deleted gets no request that would. */
  async #sweep(tenant: string): Promise<void> {
    const nowMs = this.#options.now();
    const total = this.#totals.get(tenant);
    if (!total || nowMs < total.sweepAtMs) return;
    total.sweepAtMs = nowMs + SWEEP_MS;
    const due = [...this.#stored.values()].filter(
      ({ ref, dueAtMs }) => ref.tenant === tenant && nowMs >= dueAtMs,
    );
    for (const reading of due) if (nowMs >= reading.dueAtMs) await this.#measure(reading.ref, reading);
  }

  #fullOf({ tenant, scope }: ServedScope, limits: Limits): KnownLimits['full'] {
    const own = this.#stored.get(scope)?.value ?? NOTHING;
    const all = this.#totals.get(tenant) ?? NOTHING;
    for (const what of ['bytes', 'attachments'] as const) {
      const max = limits[what];
      if (own[what] > (max.scope ?? Infinity) || all[what] > (max.tenant ?? Infinity)) return what;
    }
    return null;
  }
}
