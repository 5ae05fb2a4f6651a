/** Measurements on one machine: a SQLite file a day. Start with `embedded-telemetry.ts`. */
export {
  EmbeddedTelemetry,
  type EmbeddedTelemetryOptions,
  TELEMETRY_LIMITS,
  type TelemetryLimits,
} from './embedded-telemetry.ts';
export type { EgressCall, LogLine, ServedLine } from './lines.ts';
