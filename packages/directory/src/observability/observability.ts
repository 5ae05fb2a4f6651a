/**
 * The six reads of measurements (spec 4.3.9), and the port to the store that keeps them. Access and the window are judged
 * first; only then does the answer show whether this platform has such a store.
 */
import {
  fromTimestamp,
  type Page,
  PlatformError,
  pageOf,
  pageQuery,
  type ScopeId,
  scopeId,
  slug,
  type TenantId,
  tenantId,
  timestamp,
  toTimestamp,
} from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { z } from 'zod';
import type { AdminCall, AdminResult } from '../access/actors.ts';
import { requireActingTenant } from '../access/callers.ts';
import { requireReach } from '../access/reach.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import {
  type MetricsPoint,
  metricsPoint,
  type ScriptLogLine,
  type ScriptMetrics,
  script,
  scriptLogLine,
  scriptMetrics,
  type TenantLine,
  type TenantLogLine,
  type TenantMetrics,
  tag,
  tenantLine,
  tenantLogLine,
  tenantMetrics,
} from '../declarations/observability.ts';
import { defineFeature, type MethodsOf } from '../lib/feature.ts';
import { found, type Performers, performersOf } from '../lib/performers.ts';
import { requireTenant } from '../tenants/store.ts';

/** The longest window, in days. */
const WINDOW_DAYS_MAX = 31;
/** The most points of a series. */
export const POINTS_MAX = 1500;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const period = {
  since: timestamp.optional().describe('Where the window begins. Default: an hour before its end'),
  until: timestamp.optional().describe(`Where it ends, at most ${WINDOW_DAYS_MAX} days later. Default: now`),
};

const scriptFilter = {
  script: script.optional().describe('Only this script'),
  vertical: slug.optional().describe('Only this vertical'),
};

const tenantFilter = {
  tenant: tenantId.optional().describe("Staff must name one; a builder's is its own"),
  scope: scopeId.optional().describe('Only this scope'),
  vertical: slug.optional().describe('Only this vertical'),
};

const lineFilter = {
  minStatus: z.int().min(100).max(599).optional().describe('Only requests with this status or a higher one'),
};

const step = {
  stepSeconds: z
    .int()
    .min(60)
    .max(86_400)
    .default(300)
    .describe(`How far apart the points are; at most ${POINTS_MAX} points`),
};

const covered = { since: timestamp, until: timestamp };
const seriesAnswer = z.object({ ...covered, stepSeconds: z.int(), points: z.array(metricsPoint) });

const ofFleet = { tag, method: 'GET', problems: ['unsupported', 'runtime_fault'] } as const;
const ofTenant = {
  tag,
  method: 'GET',
  builder: 'own-tenant',
  pushToken: 'deploy',
  problems: ['not_found', 'forbidden', ...ofFleet.problems],
} as const;

export const observabilityLogs = adminOperation({
  ...ofFleet,
  name: 'observability.logs',
  summary: 'List the requests of scripts, newest first',
  path: '/observability/logs',
  input: { query: z.strictObject({ ...scriptFilter, ...lineFilter, ...period, ...pageQuery }) },
  output: z.object({ ...covered, ...pageOf(scriptLogLine).shape }),
});

export const observabilityMetrics = adminOperation({
  ...ofFleet,
  name: 'observability.metrics',
  summary: 'Add up what scripts did',
  path: '/observability/metrics',
  input: { query: z.strictObject({ ...scriptFilter, ...period, ...pageQuery }) },
  output: z.object({ ...covered, ...pageOf(scriptMetrics).shape }),
});

export const observabilityMetricsSeries = adminOperation({
  ...ofFleet,
  name: 'observability.metrics-series',
  summary: 'Show what scripts did over time',
  path: '/observability/metrics-series',
  input: { query: z.strictObject({ ...scriptFilter, ...step, ...period }) },
  output: seriesAnswer,
});

export const observabilityTenantLogs = adminOperation({
  ...ofTenant,
  name: 'observability.tenant-logs',
  summary: "List the requests of a tenant's scopes, newest first",
  path: '/observability/tenant-logs',
  input: { query: z.strictObject({ ...tenantFilter, ...lineFilter, ...period, ...pageQuery }) },
  output: z.object({ ...covered, ...pageOf(tenantLogLine).shape }),
});

export const observabilityTenantMetrics = adminOperation({
  ...ofTenant,
  name: 'observability.tenant-metrics',
  summary: "Add up what a tenant's scopes did",
  path: '/observability/tenant-metrics',
  input: { query: z.strictObject({ ...tenantFilter, ...period, ...pageQuery }) },
  output: z.object({ ...covered, ...pageOf(tenantMetrics).shape }),
});

export const observabilityTenantMetricsSeries = adminOperation({
  ...ofTenant,
  name: 'observability.tenant-metrics-series',
  summary: "Show what a tenant's scopes did over time",
  path: '/observability/tenant-metrics-series',
  input: { query: z.strictObject({ ...tenantFilter, ...step, ...period }) },
  output: seriesAnswer,
});

export const observabilityTenantLines = adminOperation({
  ...ofTenant,
  name: 'observability.tenant-lines',
  summary: "List the lines that verticals wrote in a tenant's scopes, newest first",
  description:
    'Lines of the console, and exceptions that were not caught, of deployed verticals. Nothing of the platform itself.',
  path: '/observability/tenant-lines',
  input: { query: z.strictObject({ ...tenantFilter, ...period, ...pageQuery }) },
  output: z.object({ ...covered, ...pageOf(tenantLine).shape }),
});

/** Which requests, in `[sinceMs, untilMs)`. An undefined field is no filter. */
interface TelemetryWindow {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly vertical?: string | undefined;
}

interface ByScript extends TelemetryWindow {
  readonly script?: string | undefined;
}

interface ByTenant extends TelemetryWindow {
  readonly tenant: TenantId;
  readonly scope?: ScopeId | undefined;
}

interface Paged {
  readonly limit: number;
  /** A cursor that the store gave out itself. */
  readonly cursor?: string | undefined;
}

interface Lines extends Paged {
  readonly minStatus?: number | undefined;
}

interface Steps {
  readonly stepSeconds: number;
}

/**
 * The port to the store of measurements, which a platform need not have. Lines come newest first. An answer about one
 * tenant never names another; the host administration checks that too.
 */
export interface Telemetry {
  scriptLogs(query: ByScript & Lines): Promise<Page<ScriptLogLine>>;
  scriptMetrics(query: ByScript & Paged): Promise<Page<ScriptMetrics>>;
  scriptSeries(query: ByScript & Steps): Promise<readonly MetricsPoint[]>;
  tenantLogs(query: ByTenant & Lines): Promise<Page<TenantLogLine>>;
  tenantLines(query: ByTenant & Paged): Promise<Page<TenantLine>>;
  tenantMetrics(query: ByTenant & Paged): Promise<Page<TenantMetrics>>;
  tenantSeries(query: ByTenant & Steps): Promise<readonly MetricsPoint[]>;
}

export const observabilityFeature = /* @__PURE__ */ defineFeature({
  methods: ({ db }) => ({
    /** @throws PlatformError `forbidden` or `not_found`, where the actor may not look at the tenant. */
    observedTenant: ({ call, tenant }: { readonly call: AdminCall; readonly tenant: string }): null => {
      requireActingTenant(db, call.actor);
      requireReach(db, call);
      requireTenant(db, tenant);
      return null;
    },
  }),
  queries: ['observedTenant'],
});

interface ObservabilityDeps {
  readonly directory: UnitStub<MethodsOf<readonly [typeof observabilityFeature]>>;
  readonly telemetry: Telemetry | undefined;
  readonly now: () => number;
  readonly incident: (method: string) => (error: unknown) => void;
}

/** The query of a call as its declaration parsed it, with its window in numbers. */
type Question = Parameters<Telemetry[keyof Telemetry]>[0] &
  Steps & { readonly tenant: TenantId; limit: number };

type Ask = (telemetry: Telemetry, question: Question) => Promise<object>;

const seriesOf = async (points: Promise<readonly MetricsPoint[]>, { stepSeconds }: Question) => ({
  stepSeconds,
  points: await points,
});

const makeAsks = (): Readonly<Record<string, Ask>> => ({
  [observabilityLogs.name]: (telemetry, question) => telemetry.scriptLogs(question),
  [observabilityMetrics.name]: (telemetry, question) => telemetry.scriptMetrics(question),
  [observabilityMetricsSeries.name]: (telemetry, question) =>
    seriesOf(telemetry.scriptSeries(question), question),
  [observabilityTenantLogs.name]: async (telemetry, question) =>
    ownOnly(await telemetry.tenantLogs(question), question),
  [observabilityTenantLines.name]: async (telemetry, question) =>
    ownOnly(await telemetry.tenantLines(question), question),
  [observabilityTenantMetrics.name]: async (telemetry, question) =>
    ownOnly(await telemetry.tenantMetrics(question), question),
  [observabilityTenantMetricsSeries.name]: (telemetry, question) =>
    seriesOf(telemetry.tenantSeries(question), question),
});

/**
 * The six reads. They reject with `validation_failed` for a window that is none, and for staff that name no tenant where
 * one is needed; `not_found`; `unsupported` (501), reason `no_telemetry`; `runtime_fault` (502) where the store fails.
 */
export function makeObservability(deps: ObservabilityDeps): Performers {
  return performersOf(makeAsks(), (ask) => async (call, { builder }) => {
    if (builder === 'own-tenant') await deps.directory.observedTenant({ call, tenant: tenantOf(call) });
    return answer(deps, ask, call);
  });
}

async function answer(
  { telemetry, now, incident }: ObservabilityDeps,
  ask: Ask,
  call: AdminCall,
): Promise<AdminResult> {
  const window = windowOf(call, now());
  if (!telemetry)
    throw new PlatformError('unsupported', 'This platform keeps no measurements of its verticals.', {
      reason: 'no_telemetry',
    });
  const { since: _since, until: _until, ...asked } = call.query;
  const question = { ...asked, ...window } as unknown as Question;
  const measured = await ask(telemetry, question).catch((cause: unknown) => {
    if (cause instanceof PlatformError) throw cause;
    incident('telemetry')(cause);
    throw new PlatformError('runtime_fault', 'The store of measurements did not answer.', { cause });
  });
  return found({ since: toTimestamp(window.sinceMs), until: toTimestamp(window.untilMs), ...measured });
}

/** A builder's tenant was filled in before; staff must name one. */
function tenantOf({ query }: AdminCall): string {
  if (typeof query.tenant === 'string') return query.tenant;
  throw invalid('tenant', 'must be named', 'tenant_required');
}

function windowOf({ query }: AdminCall, nowMs: number): { sinceMs: number; untilMs: number } {
  const untilMs = typeof query.until === 'string' ? fromTimestamp(query.until) : nowMs;
  const sinceMs = typeof query.since === 'string' ? fromTimestamp(query.since) : untilMs - HOUR_MS;
  if (sinceMs >= untilMs) throw invalid('since', 'must be before until');
  if (untilMs - sinceMs > WINDOW_DAYS_MAX * DAY_MS)
    throw invalid('since', `must be at most ${WINDOW_DAYS_MAX} days before until`);
  const { stepSeconds } = query;
  if (typeof stepSeconds === 'number' && (untilMs - sinceMs) / (stepSeconds * 1000) > POINTS_MAX)
    throw invalid('stepSeconds', `must be longer: this would be more than ${POINTS_MAX} points`);
  return { sinceMs, untilMs };
}

function invalid(path: string, message: string, reason?: string): PlatformError {
  return new PlatformError('validation_failed', `The query is not valid. ${path}: ${message}.`, {
    ...(reason === undefined ? {} : { reason }),
    errors: [{ path, message }],
  });
}

/** A store that answers about another tenant is broken: its answer is shown to no caller. */
function ownOnly<P extends { readonly items: readonly { readonly tenant: TenantId }[] }>(
  page: P,
  { tenant }: Question,
): P {
  if (page.items.every((item) => item.tenant === tenant)) return page;
  throw new TypeError('the telemetry of one tenant named another');
}
