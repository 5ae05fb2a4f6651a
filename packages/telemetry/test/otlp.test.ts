/** The export by OTLP: settings, the official binary form, and a collector that is slow, full or gone. */
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { OtlpExporter, OtlpSettingsError, parseOtlpSettings } from '../src/index.ts';
import { encodeMessage, rejectedIn } from '../src/otlp/protobuf.ts';
// Made by the Python package opentelemetry-proto 1.45.2 from the JSON form of the same messages.
import golden from './otlp-golden.json' with { type: 'json' };
import { line, messages, served } from './otlp-messages.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.test:4318' };

test.each(Object.entries(messages))('%s has the official binary form', (name, message) => {
  const encoded = Buffer.from(encodeMessage(name as keyof typeof messages, message)).toString('base64');
  expect(encoded).toBe(golden[name as keyof typeof messages]);
});

test('the refused items of a binary answer are read, and an answer of another form has none', () => {
  expect(rejectedIn(Buffer.from(golden.partialSuccess, 'base64'))).toBe(300);
  expect([[], [0x12, 0], [0x0a, 2, 0x12, 0]].map((bytes) => rejectedIn(Uint8Array.from(bytes)))).toEqual([
    0, 0, 0,
  ]);
});

test('nothing is exported unless an endpoint is named, or where it is switched off', () => {
  expect(parseOtlpSettings({})).toBeNull();
  expect(parseOtlpSettings({ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' })).toBeNull();
  const none = { OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' };
  expect(parseOtlpSettings({ ...ENDPOINT, ...none })).toBeNull();
});

test('the address of all signals gets their paths, and that of one is taken as it is', () => {
  const settings = parseOtlpSettings({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otel.example/in/',
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'https://logs.example/take',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic%20abc, x-team=a',
    OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'x-team=b',
    OTEL_SERVICE_NAME: 'shop',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=prod',
  });
  expect(settings).toMatchObject({
    endpoints: {
      traces: 'https://otel.example/in/v1/traces',
      metrics: null,
      logs: 'https://logs.example/take',
    },
    headers: {
      traces: { authorization: 'Basic abc', 'x-team': 'a' },
      logs: { authorization: 'Basic abc', 'x-team': 'b' },
    },
    protocol: 'http/protobuf',
    resource: { 'service.name': 'shop', 'deployment.environment.name': 'prod' },
  });
});

test.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%zz'],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s'],
  ['OTEL_TRACES_EXPORTER', 'zipkin'],
  ['OTEL_METRIC_EXPORT_INTERVAL', '0'],
])('%s=%s is refused, and the refusal names it', (name, value) => {
  const parse = () => parseOtlpSettings({ ...ENDPOINT, [name]: value });
  expect(parse).toThrow(OtlpSettingsError);
  expect(parse).toThrow(name);
});

interface Sent {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** @param answers of the collector, in turn; the last one again and again. */
function open(answers: readonly (() => Response)[], env: Record<string, string> = {}) {
  const sent: Sent[] = [];
  const pauses: number[] = [];
  const incidents: unknown[] = [];
  const settings = parseOtlpSettings({ ...ENDPOINT, OTEL_METRICS_EXPORTER: 'none', ...env });
  if (settings === null) throw new TypeError('nothing is exported');
  const exporter = new OtlpExporter({
    settings,
    version: '0.1.0',
    fetch: async (url, init) => {
      sent.push({
        url: String(url),
        headers: init?.headers as Record<string, string>,
        body: Buffer.from(init?.body as Uint8Array),
      });
      const answer = answers[Math.min(sent.length, answers.length) - 1] ?? answered(200);
      return answer();
    },
    now: () => served.atMs,
    sleep: async (ms) => void pauses.push(ms),
    onIncident: (error) => void incidents.push(error),
  });
  return { exporter, sent, pauses, incidents };
}

const answered =
  (status: number, headers: Record<string, string> = {}, body: Uint8Array<ArrayBuffer> | string = '') =>
  () =>
    new Response(body, { status, headers });

test('a batch has at most 512 spans, and what finds no room is counted', async () => {
  const { exporter, sent } = open([answered(200)], { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' });
  exporter.served(new Array(3_000).fill(served));
  await exporter.flush();
  const spans = sent.map(
    ({ body }) => JSON.parse(body.toString()).resourceSpans[0].scopeSpans[0].spans.length,
  );
  expect([spans, exporter.dropped]).toEqual([[512, 512, 512, 512], 952]);
  await exporter.close();
});

test('a body is compressed where that is set, and says so', async () => {
  const { exporter, sent } = open([answered(200)], { OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' });
  exporter.log(line);
  await exporter.close();
  expect(sent).toMatchObject([
    {
      url: 'http://collector.test:4318/v1/logs',
      headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' },
    },
  ]);
  expect(gunzipSync(sent[0]?.body as Buffer).includes('TypeError: Ärger')).toBe(true);
});

test('a collector that is busy is asked again, after the time that it names', async () => {
  const busy = [answered(503), answered(429, { 'retry-after': '7' }), answered(200)];
  const { exporter, sent, pauses, incidents } = open(busy);
  exporter.served([served]);
  await exporter.flush();
  expect([sent.length, pauses, exporter.dropped, incidents]).toEqual([3, [1_000, 7_000], 0, []]);
  await exporter.close();
});

test('one that stays away costs what it did not take, is reported once, and never ends the platform', async () => {
  const gone = () => {
    throw new TypeError('fetch failed');
  };
  const { exporter, sent, incidents } = open([gone]);
  for (let round = 0; round < 3; round++) {
    exporter.served([served]);
    await exporter.flush();
  }
  expect([sent.length, exporter.dropped, incidents.length]).toEqual([15, 3, 1]);
  await exporter.close();
});

test('both signals count what they lose, side by side', async () => {
  const { exporter } = open([answered(400)]);
  exporter.served([served, served]);
  exporter.log(line);
  await exporter.flush();
  expect(exporter.dropped).toBe(3);
  await exporter.close();
});

test.each([
  ['http/protobuf', Buffer.from(golden.partialSuccess, 'base64') as Uint8Array<ArrayBuffer>],
  ['http/json', '{"partialSuccess":{"rejectedSpans":"300"}}'],
])('a refusal of a part is counted: %s', async (protocol, body) => {
  const { exporter } = open([answered(200, {}, body)], { OTEL_EXPORTER_OTLP_PROTOCOL: protocol });
  exporter.served([served]);
  await exporter.flush();
  expect(exporter.dropped).toBe(300);
  await exporter.close();
});
