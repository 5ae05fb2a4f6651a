/**
 * The six reads of what was measured (spec 4.3.9). Who may ask and whether the question makes sense is settled first;
 * only then it shows whether there is anything to answer it.
 */

import {
  fromTimestamp,
  PlatformError,
  pageOf,
  pageQuery,
  scopeId,
  slug,
  type TenantId,
  tenantId,
  timestamp,
  toTimestamp,
} from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { z } from 'zod';
import type { AdminCall, AdminResult } from '../actors.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import {
  metricsPoint,
  script,
  scriptLogLine,
  scriptMetrics,
  tag,
  tenantLogLine,
  tenantMetrics,
} from '../declarations/observability.ts';
import { found, type Performers, performersOf } from '../lib/host-admin-performers.ts';
import { mergeDisjoint } from '../lib/merge-disjoint.ts';
import type { DirectoryMethods } from '../unit.ts';
import type { Telemetry } from './telemetry.ts';

/** How long a window may be, in days: as long as one can look at it in one picture. */
export const WINDOW_DAYS_MAX = 31;

/** How many points a series may have. */
export const POINTS_MAX = 1500;

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

const fleet = { tag, method: 'GET', success: 200, builder: 'none', audit: 'none' } as const;

const ofTenant = { ...fleet, builder: 'own-tenant' } as const;

const problems = ['unsupported', 'runtime_fault'] as const;

const tenantProblems = ['not_found', 'forbidden', ...problems] as const;

export const observabilityLogs = adminOperation({
  ...fleet,
  name: 'observability.logs',
  summary: 'List the requests of scripts, newest first',
  path: '/observability/logs',
  input: { query: z.strictObject({ ...scriptFilter, ...lineFilter, ...period, ...pageQuery }) },
  output: z.object({ ...covered, ...pageOf(scriptLogLine).shape }),
  problems,
});

export const observabilityMetrics = adminOperation({
  ...fleet,
  name: 'observability.metrics',
  summary: 'Add up what scripts did',
  path: '/observability/metrics',
  input: { query: z.strictObject({ ...scriptFilter, ...period, ...pageQuery }) },
  output: z.object({ ...covered, ...pageOf(scriptMetrics).shape }),
  problems,
});

export const observabilityMetricsSeries = adminOperation({
  ...fleet,
  name: 'observability.metrics-series',
  summary: 'Show what scripts did over time',
  path: '/observability/metrics-series',
  input: { query: z.strictObject({ ...scriptFilter, ...step, ...period }) },
  output: seriesAnswer,
  problems,
});

export const observabilityTenantLogs = adminOperation({
  ...ofTenant,
  name: 'observability.tenant-logs',
  summary: "List the requests of a tenant's scopes, newest first",
  path: '/observability/tenant-logs',
  input: { query: z.strictObject({ ...tenantFilter, ...lineFilter, ...period, ...pageQuery }) },
  output: z.object({ ...covered, ...pageOf(tenantLogLine).shape }),
  problems: tenantProblems,
});

export const observabilityTenantMetrics = adminOperation({
  ...ofTenant,
  name: 'observability.tenant-metrics',
  summary: "Add up what a tenant's scopes did",
  path: '/observability/tenant-metrics',
  input: { query: z.strictObject({ ...tenantFilter, ...period, ...pageQuery }) },
  output: z.object({ ...covered, ...pageOf(tenantMetrics).shape }),
  problems: tenantProblems,
});

export const observabilityTenantMetricsSeries = adminOperation({
  ...ofTenant,
  name: 'observability.tenant-metrics-series',
  summary: "Show what a tenant's scopes did over time",
  path: '/observability/tenant-metrics-series',
  input: { query: z.strictObject({ ...tenantFilter, ...step, ...period }) },
  output: seriesAnswer,
  problems: tenantProblems,
});

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export interface ObservabilityDeps {
  readonly directory: UnitStub<DirectoryMethods>;
  readonly telemetry: Telemetry | undefined;
  readonly now: () => number;
  readonly incident: (method: string) => (error: unknown) => void;
}

/** The query of a call as its declaration parsed it, with its window in numbers. */
type Question = Parameters<Telemetry[keyof Telemetry]>[0] & {
  readonly tenant: TenantId;
  readonly stepSeconds: number;
} & {
  readonly limit: number;
};

type Ask = (telemetry: Telemetry, question: Question) => Promise<object>;

const asPage = <P extends object>(page: P): P => page;
const seriesOf = (points: readonly unknown[], { stepSeconds }: Question) => ({ stepSeconds, points });

const FLEET: Readonly<Record<string, Ask>> = {
  'observability.logs': async (telemetry, question) => asPage(await telemetry.scriptLogs(question)),
  'observability.metrics': async (telemetry, question) => asPage(await telemetry.scriptMetrics(question)),
  'observability.metrics-series': async (telemetry, question) =>
    seriesOf(await telemetry.scriptSeries(question), question),
};

const OF_TENANT: Readonly<Record<string, Ask>> = {
  'observability.tenant-logs': async (telemetry, question) =>
    ownOnly(await telemetry.tenantLogs(question), question),
  'observability.tenant-metrics': async (telemetry, question) =>
    ownOnly(await telemetry.tenantMetrics(question), question),
  'observability.tenant-metrics-series': async (telemetry, question) =>
    seriesOf(await telemetry.tenantSeries(question), question),
};

/**
 * @throws PlatformError `validation_failed` for a window that is none, and for staff that name no tenant where one is
 * needed; `not_found`; `unsupported` (501), reason `no_telemetry`; `runtime_fault` (502) where the store fails.
 */
export function makeObservability(deps: ObservabilityDeps): Performers {
  return mergeDisjoint([
    performersOf(FLEET, (ask) => (call) => answer(deps, ask, call)),
    performersOf(OF_TENANT, (ask) => async (call) => {
      await deps.directory.observedTenant({ actor: call.actor, tenant: tenantOf(call) });
      return answer(deps, ask, call);
    }),
  ]);
}

async function answer(
  { telemetry, now, incident }: ObservabilityDeps,
  ask: Ask,
  call: AdminCall,
): Promise<AdminResult> {
  const window = windowOf(call, now());
  if (!telemetry)
    throw new PlatformError('unsupported', 'This platform keeps nothing of what its verticals do.', {
      reason: 'no_telemetry',
    });
  const { since: _since, until: _until, ...asked } = call.query;
  const question = { ...asked, ...window } as unknown as Question;
  const measured = await ask(telemetry, question).catch((cause: unknown) => {
    if (cause instanceof PlatformError) throw cause;
    incident('telemetry')(cause);
    throw new PlatformError('runtime_fault', 'What keeps the measurements did not answer.', { cause });
  });
  return found({ since: toTimestamp(window.sinceMs), until: toTimestamp(window.untilMs), ...measured });
}

/** A builder's was forced before; staff say whom they look at. */
function tenantOf({ query }: AdminCall): string {
  if (typeof query.tenant === 'string') return query.tenant;
  throw new PlatformError('validation_failed', 'The query is not valid. tenant: must be named.', {
    reason: 'tenant_required',
    errors: [{ path: 'tenant', message: 'must be named' }],
  });
}

function windowOf({ query }: AdminCall, nowMs: number): { sinceMs: number; untilMs: number } {
  const untilMs = typeof query.until === 'string' ? fromTimestamp(query.until) : nowMs;
  const sinceMs = typeof query.since === 'string' ? fromTimestamp(query.since) : untilMs - HOUR_MS;
  if (sinceMs >= untilMs) throw badWindow('since', 'must be before until');
  if (untilMs - sinceMs > WINDOW_DAYS_MAX * DAY_MS)
    throw badWindow('since', `must be at most ${WINDOW_DAYS_MAX} days before until`);
  const { stepSeconds } = query;
  if (typeof stepSeconds === 'number' && (untilMs - sinceMs) / (stepSeconds * 1000) > POINTS_MAX)
    throw badWindow('stepSeconds', `must be longer: this would be more than ${POINTS_MAX} points`);
  return { sinceMs, untilMs };
}

function badWindow(path: string, message: string): PlatformError {
  return new PlatformError('validation_failed', `The query is not valid. ${path}: ${message}.`, {
    errors: [{ path, message }],
  });
}

/** A store that answers about somebody else is broken, and nobody is shown what it says. */
function ownOnly<P extends { readonly items: readonly { readonly tenant: TenantId }[] }>(
  page: P,
  { tenant }: Question,
): P {
  if (page.items.every((item) => item.tenant === tenant)) return page;
  throw new TypeError('the telemetry of one tenant named another');
}
