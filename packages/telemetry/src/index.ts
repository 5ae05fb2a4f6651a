/** Measurements on one machine: a SQLite file a day, and their export by OTLP. Start with `embedded-telemetry.ts`. */
export {
  EmbeddedTelemetry,
  type EmbeddedTelemetryOptions,
  TELEMETRY_LIMITS,
  type TelemetryLimits,
} from './embedded-telemetry.ts';
export type { EgressCall, LogLine, ServedLine } from './lines.ts';
export { OtlpExporter, type OtlpExporterOptions } from './otlp/exporter.ts';
export { OTLP_VARIABLES, type OtlpSettings, OtlpSettingsError, parseOtlpSettings } from './otlp/settings.ts';
