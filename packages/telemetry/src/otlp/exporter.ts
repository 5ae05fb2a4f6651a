/**
 * Exports measurements by OTLP over HTTP: spans and lines in batches, metrics at intervals. No request waits for it: what
 * finds no room is dropped and counted, and what a collector does not take is sent again for a while.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { IncidentSink } from '@freehold/store';
import type { EgressCall, LogLine, ServedLine } from '../lines.ts';
import { logRequest, type Origin, originOf, traceRequest } from './messages.ts';
import { Meter } from './meter.ts';
import { encodeMessage, rejectedIn } from './protobuf.ts';
import type { OtlpSettings, Signal } from './settings.ts';

export interface OtlpExporterOptions {
  readonly settings: OtlpSettings;
  /** The version of the platform. */
  readonly version: string;
  readonly fetch: typeof fetch;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Resolves after the time. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Receives the first failure of each outage. */
  readonly onIncident: IncidentSink;
}

/** The sizes and times of the specification's batch processors ("Environment Variable Specification"). */
const BATCH_MAX = 512;
const WAITING_MAX = 2_048;
const EXPORT_AFTER_MS = 1_000;
/** The tries of one batch, and the first pause between them, which doubles. */
const TRIES = 5;
const PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 30_000;
/** The answers that ask for another try ("OTLP/HTTP Response"). */
const RETRYABLE = new Set([429, 502, 503, 504]);

const MESSAGES = {
  traces: 'ExportTraceServiceRequest',
  metrics: 'ExportMetricsServiceRequest',
  logs: 'ExportLogsServiceRequest',
} as const;

const compressed = promisify(gzip);

export class OtlpExporter {
  readonly #options: OtlpExporterOptions;
  readonly #origin: Origin;
  readonly #meter: Meter;
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #ending = new AbortController();
  /** The batches that are being sent, one for each signal. */
  readonly #sending: Record<Signal, Promise<void> | null> = { traces: null, metrics: null, logs: null };
  #served: ServedLine[] = [];
  #logs: LogLine[] = [];
  #dropped = 0;
  #isFailing = false;

  constructor(options: OtlpExporterOptions) {
    this.#options = options;
    this.#origin = originOf(options.settings.resource, options.version);
    this.#meter = new Meter(options.now());
    this.#timers = [
      setInterval(() => void this.flush(), EXPORT_AFTER_MS).unref(),
      setInterval(() => void this.#exportMetrics(), options.settings.metricIntervalMs).unref(),
    ];
  }

  /** The number of spans and lines that were not exported. */
  get dropped(): number {
    return this.#dropped;
  }

  served(lines: readonly ServedLine[]): void {
    const { traces, metrics } = this.#options.settings.endpoints;
    for (const line of lines) {
      if (metrics !== null) this.#meter.served(line);
      if (traces === null) continue;
      if (this.#served.length < WAITING_MAX) this.#served.push(line);
      else this.#dropped += 1;
    }
  }

  log(line: LogLine): void {
    if (this.#options.settings.endpoints.logs === null) return;
    if (this.#logs.length < WAITING_MAX) this.#logs.push(line);
    else this.#dropped += 1;
  }

  egress(call: EgressCall): void {
    if (this.#options.settings.endpoints.metrics !== null) this.#meter.egress(call);
  }

  /** Sends what waits, once, and ends. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#ending.abort();
    await Promise.all(Object.values(this.#sending));
    await this.flush();
    await this.#exportMetrics();
  }

  /** Exports the spans and lines that wait, batch after batch. Never rejects. */
  async flush(): Promise<void> {
    const { now } = this.#options;
    await Promise.all([
      this.#drain('traces', () => {
        const lines = this.#served.splice(0, BATCH_MAX);
        return { size: lines.length, message: traceRequest(this.#origin, lines) };
      }),
      this.#drain('logs', () => {
        const lines = this.#logs.splice(0, BATCH_MAX);
        return { size: lines.length, message: logRequest(this.#origin, lines, now()) };
      }),
    ]);
  }

  #drain(signal: 'traces' | 'logs', take: () => { size: number; message: object }): Promise<void> {
    this.#sending[signal] ??= (async () => {
      for (let batch = take(); batch.size > 0; batch = take()) {
        const lost = await this.#export(signal, batch.message, batch.size);
        // Read after the wait: the other signal counts beside this one.
        this.#dropped += lost;
      }
    })().finally(() => {
      this.#sending[signal] = null;
    });
    return this.#sending[signal];
  }

  #exportMetrics(): Promise<void> {
    if (this.#options.settings.endpoints.metrics === null) return Promise.resolve();
    this.#sending.metrics ??= (async () => {
      const facts = { nowMs: this.#options.now(), dropped: this.#dropped };
      // The next sums hold those that are not taken now.
      await this.#export('metrics', this.#meter.request(this.#origin, facts), 0);
    })().finally(() => {
      this.#sending.metrics = null;
    });
    return this.#sending.metrics;
  }

  /** Returns the number of those that were not taken. Never throws. */
  async #export(signal: Signal, message: object, size: number): Promise<number> {
    const endpoint = this.#options.settings.endpoints[signal];
    if (endpoint === null) return size;
    try {
      const body = await this.#bodyOf(signal, message);
      const rejected = await this.#send(endpoint, signal, body);
      this.#isFailing = false;
      return rejected;
    } catch (error) {
      if (!this.#isFailing)
        this.#options.onIncident(error, { kind: 'telemetry', key: 'otlp', method: signal });
      this.#isFailing = true;
      return size;
    }
  }

  async #bodyOf(signal: Signal, message: object): Promise<Uint8Array<ArrayBuffer>> {
    const { protocol, isCompressed } = this.#options.settings;
    const bytes =
      protocol === 'http/json'
        ? Buffer.from(JSON.stringify(message), 'utf8')
        : encodeMessage(MESSAGES[signal], message);
    return new Uint8Array(isCompressed ? await compressed(bytes) : bytes);
  }

  /** Returns the number of items that the collector refused. @throws Error where it took none. */
  async #send(endpoint: string, signal: Signal, body: Uint8Array<ArrayBuffer>): Promise<number> {
    const { settings, sleep } = this.#options;
    const isJson = settings.protocol === 'http/json';
    for (let tries = 1; ; tries++) {
      const { response, cause } = await this.#post(
        endpoint,
        {
          ...settings.headers[signal],
          'content-type': isJson ? 'application/json' : 'application/x-protobuf',
          ...(settings.isCompressed ? { 'content-encoding': 'gzip' } : {}),
        },
        body,
      );
      if (response?.ok)
        return isJson ? rejectedOf(await response.text()) : rejectedIn(await response.bytes());
      await response?.body?.cancel();
      const isFinal = response !== null && !RETRYABLE.has(response.status);
      if (isFinal || tries === TRIES || this.#ending.signal.aborted)
        throw failureOf(endpoint, response?.status ?? null, cause);
      await sleep(pauseOf(response, tries), this.#ending.signal);
    }
  }

  async #post(
    endpoint: string,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array<ArrayBuffer>,
  ): Promise<{ readonly response: Response | null; readonly cause: unknown }> {
    const signal = AbortSignal.timeout(this.#options.settings.timeoutMs);
    try {
      const init: RequestInit = { method: 'POST', headers, body, redirect: 'error', signal };
      return { response: await this.#options.fetch(endpoint, init), cause: null };
    } catch (cause) {
      return { response: null, cause };
    }
  }
}

function pauseOf(response: Response | null, tries: number): number {
  const askedMs = Number(response?.headers.get('retry-after')) * 1_000;
  return Math.min(askedMs > 0 ? askedMs : PAUSE_MS * 2 ** (tries - 1), PAUSE_MAX_MS);
}

/** @param status null where it did not answer. */
function failureOf(endpoint: string, status: number | null, cause: unknown): Error {
  const { origin, pathname } = new URL(endpoint);
  const why = status === null ? 'did not answer' : `answered ${status}`;
  return new Error(`The collector at ${origin}${pathname} ${why}: measurements are not exported.`, { cause });
}

/** The partial success of an answer in JSON: the number of items that were refused. */
function rejectedOf(text: string): number {
  try {
    const { partialSuccess = {} } = JSON.parse(text) as {
      readonly partialSuccess?: Readonly<Record<string, unknown>>;
    };
    return Number(partialSuccess.rejectedSpans ?? partialSuccess.rejectedLogRecords ?? 0);
  } catch {
    return 0;
  }
}
