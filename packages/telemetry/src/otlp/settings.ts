/** Settings of the export, by the variables that OpenTelemetry specifies ("OpenTelemetry Protocol Exporter"). */

export type Signal = 'traces' | 'metrics' | 'logs';

export interface OtlpSettings {
  /** Where each signal goes; null for one that is not exported. */
  readonly endpoints: Readonly<Record<Signal, string | null>>;
  readonly headers: Readonly<Record<Signal, Readonly<Record<string, string>>>>;
  readonly protocol: 'http/protobuf' | 'http/json';
  readonly isCompressed: boolean;
  readonly timeoutMs: number;
  /** The time between two exports of metrics, in milliseconds. */
  readonly metricIntervalMs: number;
  /** `service.name` and the others. */
  readonly resource: Readonly<Record<string, string>>;
}

const SIGNALS: readonly Signal[] = ['traces', 'metrics', 'logs'];
const PREFIX = 'OTEL_EXPORTER_OTLP_';
const PROTOCOLS: readonly string[] = ['http/protobuf', 'http/json'];

/** The variables that are read. */
export const OTLP_VARIABLES: readonly string[] = [
  ...['ENDPOINT', 'HEADERS', 'PROTOCOL', 'COMPRESSION', 'TIMEOUT'].map((name) => `${PREFIX}${name}`),
  ...SIGNALS.flatMap((signal) => [
    `${PREFIX}${signal.toUpperCase()}_ENDPOINT`,
    `${PREFIX}${signal.toUpperCase()}_HEADERS`,
    `OTEL_${signal.toUpperCase()}_EXPORTER`,
  ]),
  ...['OTEL_SDK_DISABLED', 'OTEL_SERVICE_NAME', 'OTEL_RESOURCE_ATTRIBUTES', 'OTEL_METRIC_EXPORT_INTERVAL'],
];

/** A variable that cannot be used. */
export class OtlpSettingsError extends Error {
  override readonly name = 'OtlpSettingsError';

  constructor(variable: string, problem: string) {
    super(`${variable} cannot be used: ${problem}.`);
  }
}

/**
 * Reads the settings. Nothing is exported unless an endpoint is named: the specification's default, a collector of this
 * machine, is often none. @returns null where nothing is exported. @throws OtlpSettingsError for the first fault.
 */
export function parseOtlpSettings(env: Readonly<Record<string, string | undefined>>): OtlpSettings | null {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return null;
  const of = (name: string): string => env[`${PREFIX}${name}`] ?? '';
  const each = <T>(read: (signal: Signal) => T) =>
    Object.fromEntries(SIGNALS.map((signal) => [signal, read(signal)])) as Record<Signal, T>;
  const endpoints = each((signal) => endpointOf(env, signal));
  if (Object.values(endpoints).every((endpoint) => endpoint === null)) return null;
  const protocol = of('PROTOCOL') || 'http/protobuf';
  if (!PROTOCOLS.includes(protocol))
    throw new OtlpSettingsError(
      `${PREFIX}PROTOCOL`,
      'it must be http/protobuf or http/json; a collector takes both',
    );
  const compression = of('COMPRESSION') || 'none';
  if (!['gzip', 'none'].includes(compression))
    throw new OtlpSettingsError(`${PREFIX}COMPRESSION`, 'it must be gzip or none');
  return {
    endpoints,
    headers: each((signal) => ({
      ...pairsOf(env, `${PREFIX}HEADERS`, (name) => name.toLowerCase()),
      ...pairsOf(env, `${PREFIX}${signal.toUpperCase()}_HEADERS`, (name) => name.toLowerCase()),
    })),
    protocol: protocol as OtlpSettings['protocol'],
    isCompressed: compression === 'gzip',
    timeoutMs: millisecondsOf(env, `${PREFIX}TIMEOUT`, 10_000),
    metricIntervalMs: millisecondsOf(env, 'OTEL_METRIC_EXPORT_INTERVAL', 60_000),
    resource: {
      'service.name': 'freehold',
      ...pairsOf(env, 'OTEL_RESOURCE_ATTRIBUTES'),
      ...(env.OTEL_SERVICE_NAME ? { 'service.name': env.OTEL_SERVICE_NAME } : {}),
    },
  };
}

/** The address of a signal is taken as it is; that of all of them gets the signal's path. */
function endpointOf(env: Readonly<Record<string, string | undefined>>, signal: Signal): string | null {
  const exporter = env[`OTEL_${signal.toUpperCase()}_EXPORTER`] || 'otlp';
  if (exporter === 'none') return null;
  if (exporter !== 'otlp')
    throw new OtlpSettingsError(`OTEL_${signal.toUpperCase()}_EXPORTER`, 'it must be otlp or none');
  const own = env[`${PREFIX}${signal.toUpperCase()}_ENDPOINT`];
  if (own) return addressOf(`${PREFIX}${signal.toUpperCase()}_ENDPOINT`, own).href;
  const all = env[`${PREFIX}ENDPOINT`];
  if (!all) return null;
  const address = addressOf(`${PREFIX}ENDPOINT`, all);
  address.pathname = `${address.pathname.replace(/\/$/, '')}/v1/${signal}`;
  return address.href;
}

function addressOf(variable: string, text: string): URL {
  const address = URL.parse(text);
  if (!address || !/^https?:$/.test(address.protocol))
    throw new OtlpSettingsError(
      variable,
      'it must be an http or https address, such as http://localhost:4318',
    );
  return address;
}

/** `name=value,name=value`, with percent-encoded values (W3C Baggage). */
function pairsOf(
  env: Readonly<Record<string, string | undefined>>,
  variable: string,
  nameOf = (name: string) => name,
): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const pair of (env[variable] ?? '').split(',').map((each) => each.trim())) {
    if (pair === '') continue;
    const [, name = '', value = ''] = /^([^=\s]+)\s*=\s*(.*)$/.exec(pair) ?? [];
    try {
      if (name === '') throw new URIError('no name');
      pairs[nameOf(decodeURIComponent(name))] = decodeURIComponent(value);
    } catch {
      throw new OtlpSettingsError(variable, 'it must be name=value, separated by commas, percent-encoded');
    }
  }
  return pairs;
}

function millisecondsOf(
  env: Readonly<Record<string, string | undefined>>,
  variable: string,
  fallback: number,
): number {
  const text = env[variable];
  if (!text) return fallback;
  if (!/^[1-9]\d{0,6}$/.test(text))
    throw new OtlpSettingsError(variable, 'it must be a number of milliseconds from 1 to 9999999');
  return Number(text);
}
