/** A message of each signal, with every field that is sent. `otlp-golden.json` has their official binary form. */
import type { LogLine, ServedLine } from '../src/index.ts';
import { logRequest, originOf, traceRequest } from '../src/otlp/messages.ts';
import { Meter } from '../src/otlp/meter.ts';

const AT_MS = 1_795_827_953_947;

export const served: ServedLine = {
  atMs: AT_MS,
  script: 'rental',
  ...{ vertical: 'rental', version: '1.0.0', tenant: 'tnt_a', scope: 'scp_a' },
  operation: 'GET/api/items/id',
  status: 503,
  durationMs: 12.5,
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  parentSpanId: 'b7ad6b7169203331',
};

export const line: LogLine = {
  atMs: AT_MS,
  ...{ vertical: 'rental', version: '1.0.0', tenant: 'tnt_a', scope: 'scp_a' },
  ...{ kind: 'exception', level: 'error', text: 'TypeError: Ärger', stack: 'at src/items.ts:3:4' },
};

const origin = originOf({ 'service.name': 'freehold', 'deployment.environment.name': 'prod' }, '0.1.0');
const meter = new Meter(AT_MS - 60_000);
meter.served(served);
meter.served({ ...served, status: 200, durationMs: 20_000 });
meter.egress({ ...served, host: 'api.example.com', bytes: 3_000_000_000, failed: true });

export const messages = {
  ExportTraceServiceRequest: traceRequest(origin, [served, { ...served, status: 200, parentSpanId: null }]),
  ExportLogsServiceRequest: logRequest(
    origin,
    [line, { ...line, tenant: null, scope: null, kind: 'console', level: 'debug', stack: null }],
    AT_MS + 1,
  ),
  ExportMetricsServiceRequest: meter.request(origin, { nowMs: AT_MS, dropped: 300 }),
} as const;
