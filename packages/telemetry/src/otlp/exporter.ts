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
      const answered = await this.#options
        .fetch(endpoint, {
          method: 'POST',
          headers: {
            ...settings.headers[signal],
            'content-type': isJson ? 'application/json' : 'application/x-protobuf',
            ...(settings.isCompressed ? { 'content-encoding': 'gzip' } : {}),
          },
          body,
          redirect: 'error',
          signal: AbortSignal.timeout(settings.timeoutMs),
        })
        .catch((error: unknown) => error as Error);
      if (answered instanceof Response) {
        if (answered.ok)
          return isJson ? rejectedOf(await answered.text()) : rejectedIn(await answered.bytes());
        await answered.body?.cancel();
      }
      const isFinal = answered instanceof Response && !RETRYABLE.has(answered.status);
      if (isFinal || tries === TRIES || this.#ending.signal.aborted) throw failureOf(endpoint, answered);
      await sleep(pauseOf(answered, tries), this.#ending.signal);
    }
  }
}

function pauseOf(answered: Response | Error, tries: number): number {
  const asked = answered instanceof Response ? Number(answered.headers.get('retry-after')) * 1_000 : 0;
  return Math.min(asked > 0 ? asked : PAUSE_MS * 2 ** (tries - 1), PAUSE_MAX_MS);
}

function failureOf(endpoint: string, answered: Response | Error): Error {
  const { origin, pathname } = new URL(endpoint);
  const why = answered instanceof Response ? `answered ${answered.status}` : 'did not answer';
  return new Error(`The collector at ${origin}${pathname} ${why}: measurements are not exported.`, {
    ...(answered instanceof Response ? {} : { cause: answered }),
  });
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
