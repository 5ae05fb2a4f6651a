/** The messages of OTLP in their JSON form (opentelemetry-proto, "OTLP/JSON"), from the facts that are measured. */
import type { LogLine, ServedLine } from '../lines.ts';

export interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly intValue: string };
}

/** The sender, as every message names it. */
export interface Origin {
  readonly resource: { readonly attributes: readonly Attribute[] };
  readonly scope: { readonly name: string; readonly version: string };
}

const SPAN_KIND_SERVER = 2;
const STATUS_CODE_ERROR = 2;

/** The severities of `console` ("Logs Data Model", SeverityNumber). */
const SEVERITIES: Readonly<Record<string, number>> = { debug: 5, log: 9, info: 9, warn: 13, error: 17 };

export function originOf(resource: Readonly<Record<string, string>>, version: string): Origin {
  return { resource: { attributes: attributesOf(resource) }, scope: { name: 'freehold', version } };
}

export function traceRequest({ resource, scope }: Origin, lines: readonly ServedLine[]): object {
  const spans = lines.filter(({ traceId, spanId }) => traceId !== null && spanId !== null).map(spanOf);
  return { resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] };
}

export function logRequest({ resource, scope }: Origin, lines: readonly LogLine[], nowMs: number): object {
  const observedTimeUnixNano = nanosOf(nowMs);
  const logRecords = lines.map((line) => ({ ...recordOf(line), observedTimeUnixNano }));
  return { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] };
}

function spanOf(line: ServedLine): object {
  const { traceId, spanId, parentSpanId, operation, status, atMs, durationMs } = line;
  // The place is the method and the words of the path.
  const [method = '', ...words] = (operation ?? '').split('/');
  return {
    ...{ traceId, spanId },
    ...(parentSpanId === null ? {} : { parentSpanId }),
    name: `${method} /${words.join('/')}`,
    kind: SPAN_KIND_SERVER,
    startTimeUnixNano: nanosOf(atMs - durationMs),
    endTimeUnixNano: nanosOf(atMs),
    attributes: attributesOf({
      ...aboutOf(line),
      'http.request.method': method,
      'http.route': `/${words.join('/')}`,
      'http.response.status_code': status,
    }),
    // A refusal is the caller's matter (semantic conventions for HTTP servers).
    ...(status >= 500 ? { status: { code: STATUS_CODE_ERROR } } : {}),
  };
}

function recordOf(line: LogLine): object {
  const { atMs, kind, level, text, stack } = line;
  const isException = kind === 'exception';
  return {
    timeUnixNano: nanosOf(atMs),
    severityNumber: SEVERITIES[isException ? 'error' : level] ?? 9,
    severityText: isException ? 'error' : level,
    body: { stringValue: text },
    attributes: attributesOf({
      ...aboutOf(line),
      ...(isException ? { 'exception.message': text, 'exception.stacktrace': stack } : {}),
    }),
  };
}

function aboutOf({
  vertical,
  version,
  tenant,
  scope,
}: Pick<LogLine, 'vertical' | 'version' | 'tenant' | 'scope'>) {
  return {
    'freehold.vertical': vertical,
    'freehold.version': version,
    'freehold.tenant': tenant,
    'freehold.scope': scope,
  };
}

/** Null values are left out. */
export function attributesOf(values: Readonly<Record<string, string | number | null>>): readonly Attribute[] {
  return Object.entries(values).flatMap(([key, value]) => {
    if (value === null) return [];
    return [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }];
  });
}

/** Nanoseconds since the epoch, which no number of JavaScript holds. */
export function nanosOf(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}
