/** The port to whatever keeps what was measured. It does not have to be there. */
import type { Page, ScopeId, TenantId } from '@freehold/contracts';
import type {
  MetricsPoint,
  ScriptLogLine,
  ScriptMetrics,
  TenantLogLine,
  TenantMetrics,
} from '../declarations/observability.ts';

/** Which requests, in `[sinceMs, untilMs)`. Undefined fields ask for nothing. */
export interface TelemetryWindow {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly vertical?: string | undefined;
}

export interface ByScript extends TelemetryWindow {
  readonly script?: string | undefined;
}

export interface ByTenant extends TelemetryWindow {
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
 * Answers about requests, newest first. What is asked of one tenant never names another one; the host administration
 * checks that too, and shows nothing where it does not hold.
 */
export interface Telemetry {
  scriptLogs(query: ByScript & Lines): Promise<Page<ScriptLogLine>>;
  scriptMetrics(query: ByScript & Paged): Promise<Page<ScriptMetrics>>;
  scriptSeries(query: ByScript & Steps): Promise<readonly MetricsPoint[]>;
  tenantLogs(query: ByTenant & Lines): Promise<Page<TenantLogLine>>;
  tenantMetrics(query: ByTenant & Paged): Promise<Page<TenantMetrics>>;
  tenantSeries(query: ByTenant & Steps): Promise<readonly MetricsPoint[]>;
}
