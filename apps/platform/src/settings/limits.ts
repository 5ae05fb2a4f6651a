/** The limits of tenants' applications: defaults, and those of plans, from a file (docs/operating.md). */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { SettingsError } from './settings.ts';

/** Null: no limit. */
const count = z.int().min(1).nullable();
const scoped = z.strictObject({ scope: count, tenant: count });
const counted = scoped.extend({ address: count });

const limits = z.strictObject({
  /** Requests in a minute. */
  requests: counted,
  /** Event streams that are open at once. */
  streams: counted,
  /** Bytes of databases and attachments. */
  bytes: scoped,
  attachments: scoped,
});
export type Limits = z.output<typeof limits>;

export interface LimitSettings {
  readonly default: Limits;
  /** By the plan of the tenant's entitlement `platform`. */
  readonly plans: Readonly<Record<string, Limits>>;
}

const GIB = 1_024 ** 3;
/**
 * Far above what people do, and below what takes a machine with two cores away from the others. One address may be that of
 * a whole office.
 */
export const LIMITS_DEFAULT: Limits = {
  requests: { address: 6_000, scope: 18_000, tenant: 36_000 },
  streams: { address: 100, scope: 500, tenant: 1_000 },
  bytes: { scope: 50 * GIB, tenant: 200 * GIB },
  attachments: { scope: 500_000, tenant: 2_000_000 },
};

/** A file takes from the defaults, and a plan from the file's own default, all that it leaves out. */
const written = z.strictObject({
  requests: counted.partial().optional(),
  streams: counted.partial().optional(),
  bytes: scoped.partial().optional(),
  attachments: scoped.partial().optional(),
});
const limitsFile = z.strictObject({
  default: written.default({}),
  plans: z.record(z.string().min(1).max(64), written).default({}),
});

/** @param path null: the defaults. @throws SettingsError with one sentence. */
export function loadLimits(path: string | null): LimitSettings {
  if (path === null) return { default: LIMITS_DEFAULT, plans: {} };
  const parsed = limitsFile.safeParse(readJson(path));
  if (!parsed.success) {
    const [fault] = parsed.error.issues;
    throw unusable(`${fault?.path.join('.') || path}: ${fault?.message ?? 'it is not one'}`);
  }
  const base = over(LIMITS_DEFAULT, parsed.data.default);
  const plans = Object.entries(parsed.data.plans).map(([name, plan]) => [name, over(base, plan)] as const);
  return { default: base, plans: Object.fromEntries(plans) };
}

function over(base: Limits, more: z.output<typeof written>): Limits {
  return limits.parse({
    requests: { ...base.requests, ...more.requests },
    streams: { ...base.streams, ...more.streams },
    bytes: { ...base.bytes, ...more.bytes },
    attachments: { ...base.attachments, ...more.attachments },
  });
}

function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw unusable(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw unusable(`${path} is not JSON`);
  }
}

function unusable(fault: string): SettingsError {
  return new SettingsError(`FREEHOLD_LIMITS_FILE cannot be used: ${fault}.`);
}
