/** The requests of verticals by script and by tenant, and the version of each script (spec 4.3.9, 4.3.12). */
import { scopeId, slug, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';

export const tag = 'Observability';

export const script = z.string().min(1).max(200);

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

/** One line that the code of a deployed vertical wrote, or an exception that it did not catch. */
export const tenantLine = z
  .object({
    at: timestamp,
    tenant: tenantId,
    scope: scopeId.nullable(),
    vertical: slug,
    version: z.string(),
    kind: z.enum(['console', 'exception']),
    level: z.string(),
    text: z.string(),
    stack: z.string().nullable(),
  })
  .meta({ id: 'TenantLine' });

export type TenantLine = z.infer<typeof tenantLine>;

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
