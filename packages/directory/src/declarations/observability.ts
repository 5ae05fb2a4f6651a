/** What verticals did, by script and by tenant, and which script is which version (spec 4.3.9, 4.3.12). */
import { pageOf, pageQuery, scopeId, slug, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';

const tag = 'Observability';

/** How long a window may be, in days: as long as one can look at it in one picture. */
export const WINDOW_DAYS_MAX = 31;
/** How many points a series may have. */
export const POINTS_MAX = 1500;

const period = {
  since: timestamp.optional().describe('Where the window begins. Default: an hour before its end'),
  until: timestamp.optional().describe(`Where it ends, at most ${WINDOW_DAYS_MAX} days later. Default: now`),
};
const script = z.string().min(1).max(200);
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

const count = z.int().min(0);
const millis = z.number().min(0).nullable();
const line = {
  at: timestamp,
  vertical: slug.nullable(),
  version: z.string().nullable(),
  operation: z.string().nullable(),
  status: z.int().nullable(),
  durationMs: millis,
  traceId: z.string().nullable(),
};
const figures = {
  requests: count,
  refused: count.describe('Answered with a 4xx'),
  errors: count.describe('Answered with a 5xx'),
  durationMsP50: millis,
  durationMsP95: millis,
};

/** One request of a script. Nothing of what was sent is kept. */
export const scriptLogLine = z.object({ script, ...line }).meta({ id: 'ScriptLogLine' });
export type ScriptLogLine = z.infer<typeof scriptLogLine>;

export const tenantLogLine = z
  .object({ tenant: tenantId, scope: scopeId.nullable(), ...line })
  .meta({ id: 'TenantLogLine' });
export type TenantLogLine = z.infer<typeof tenantLogLine>;

export const scriptMetrics = z
  .object({ script, vertical: slug.nullable(), version: z.string().nullable(), ...figures })
  .meta({ id: 'ScriptMetrics' });
export type ScriptMetrics = z.infer<typeof scriptMetrics>;

export const tenantMetrics = z
  .object({ tenant: tenantId, scope: scopeId.nullable(), vertical: slug.nullable(), ...figures })
  .meta({ id: 'TenantMetrics' });
export type TenantMetrics = z.infer<typeof tenantMetrics>;

export const metricsPoint = z
  .object({ at: timestamp.describe('Where its step begins'), ...figures })
  .meta({ id: 'MetricsPoint' });
export type MetricsPoint = z.infer<typeof metricsPoint>;

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

export const serviceRef = z
  .object({
    script,
    kind: z.enum(['serving', 'archive']),
    vertical: slug,
    version: z.string(),
    label: z.string().describe('For people: the name and the version'),
  })
  .meta({ id: 'ServiceRef' });
export type ServiceRef = z.infer<typeof serviceRef>;

export const serviceRefsList = adminOperation({
  name: 'service-refs.list',
  summary: 'List which script is which version of which vertical',
  description:
    "By script: for each vertical its serving script, once a version serves, and one archive script for each version. A read of the directory: it needs no telemetry. A builder sees its own tenant's.",
  tag,
  method: 'GET',
  path: '/service-refs',
  input: {
    query: z.strictObject({
      tenant: tenantId.optional().describe('Only verticals that this tenant owns'),
      ...pageQuery,
    }),
  },
  output: pageOf(serviceRef),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});
