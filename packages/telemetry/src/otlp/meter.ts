/** Metrics that grow from the start of the process: durations of requests, outgoing calls, lines that were dropped. */
import type { EgressCall, ServedLine } from '../lines.ts';
import { attributesOf, nanosOf, type Origin } from './messages.ts';

/** The bounds that the semantic conventions advise for durations of HTTP requests, in seconds. */
const BOUNDS_S = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const CUMULATIVE = 2;
/** The most series of a metric: a platform may have many tenants. */
const SERIES_MAX = 2_000;
/** The series of those that found no place ("Metrics SDK", cardinality limits). */
const OVERFLOW = { 'otel.metric.overflow': 'true' };

type Labels = Readonly<Record<string, string | number>>;

interface Durations {
  readonly labels: Labels;
  readonly counts: number[];
  sumS: number;
}

interface Calls {
  readonly labels: Labels;
  calls: number;
  bytes: number;
}

export class Meter {
  readonly #startedAtMs: number;
  readonly #durations = new Map<string, Durations>();
  readonly #egress = new Map<string, Calls>();

  constructor(nowMs: number) {
    this.#startedAtMs = nowMs;
  }

  served({ vertical, version, tenant, operation, status, durationMs }: ServedLine): void {
    const labels = {
      ...{ 'freehold.vertical': vertical, 'freehold.version': version, 'freehold.tenant': tenant },
      'http.request.method': operation?.split('/', 1)[0] ?? '',
      'http.response.status_code': status,
    };
    const series = seriesOf(this.#durations, labels, (given) => ({
      labels: given,
      counts: new Array<number>(BOUNDS_S.length + 1).fill(0),
      sumS: 0,
    }));
    const seconds = durationMs / 1_000;
    const bucket = BOUNDS_S.findIndex((bound) => seconds <= bound);
    const index = bucket < 0 ? BOUNDS_S.length : bucket;
    series.counts[index] = (series.counts[index] ?? 0) + 1;
    series.sumS += seconds;
  }

  egress({ vertical, version, host, bytes, failed }: EgressCall): void {
    const labels = {
      ...{ 'freehold.vertical': vertical, 'freehold.version': version, 'server.address': host },
      'freehold.outcome': failed ? 'failed' : 'answered',
    };
    const series = seriesOf(this.#egress, labels, (given) => ({ labels: given, calls: 0, bytes: 0 }));
    series.calls += 1;
    series.bytes += bytes;
  }

  request({ resource, scope }: Origin, { nowMs, dropped }: { nowMs: number; dropped: number }): object {
    const times = { startTimeUnixNano: nanosOf(this.#startedAtMs), timeUnixNano: nanosOf(nowMs) };
    const sum = (points: readonly { readonly labels: Labels; readonly value: number }[]) => ({
      dataPoints: points.map(({ labels, value }) => ({
        ...times,
        asInt: String(value),
        attributes: attributesOf(labels),
      })),
      aggregationTemporality: CUMULATIVE,
      isMonotonic: true,
    });
    const egress = [...this.#egress.values()];
    const metrics = [
      {
        name: 'http.server.request.duration',
        description: 'Duration of requests to applications.',
        unit: 's',
        histogram: {
          dataPoints: [...this.#durations.values()].map(({ labels, counts, sumS }) => ({
            ...times,
            count: String(counts.reduce((all, count) => all + count, 0)),
            sum: sumS,
            bucketCounts: counts.map(String),
            explicitBounds: BOUNDS_S,
            attributes: attributesOf(labels),
          })),
          aggregationTemporality: CUMULATIVE,
        },
      },
      {
        name: 'freehold.egress.calls',
        description: 'Outgoing calls of deployed verticals.',
        unit: '{call}',
        sum: sum(egress.map(({ labels, calls: value }) => ({ labels, value }))),
      },
      {
        name: 'freehold.egress.sent',
        description: 'Bytes that deployed verticals sent.',
        unit: 'By',
        sum: sum(egress.map(({ labels, bytes: value }) => ({ labels, value }))),
      },
      {
        name: 'freehold.telemetry.dropped',
        description: 'Spans and lines that were not exported.',
        unit: '{item}',
        sum: sum([{ labels: {}, value: dropped }]),
      },
    ];
    return { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] };
  }
}

function seriesOf<Series>(
  known: Map<string, Series>,
  labels: Labels,
  make: (labels: Labels) => Series,
): Series {
  const key = Object.values(labels).join('\n');
  const found = known.get(key);
  if (found) return found;
  const stored = known.size < SERIES_MAX ? labels : OVERFLOW;
  const name = stored === labels ? key : '';
  const series = known.get(name) ?? make(stored);
  known.set(name, series);
  return series;
}
