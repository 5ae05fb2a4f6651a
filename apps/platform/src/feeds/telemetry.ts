/** Feeds the store of measurements: requests that were served, and what deployed verticals say and call. */
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { HostedLine } from '@freehold/runtime-workerd';
import type { IncidentSink } from '@freehold/store';
import {
  type EgressCall,
  EmbeddedTelemetry,
  type LogLine,
  OtlpExporter,
  type OtlpSettings,
  type ServedLine,
} from '@freehold/telemetry';
import type { ScopeActivity } from '../network/activity.ts';
import type { ServedRequest } from '../network/router.ts';
import { OperatorNotice } from './feeds.ts';

export interface TelemetryFeed {
  /** Null where nothing is measured. */
  readonly store: EmbeddedTelemetry | null;
  readonly onLines: (vertical: string, lines: readonly HostedLine[]) => void;
  /** Writes and exports what waits. */
  close(): Promise<void>;
}

export interface TelemetryFeedOptions {
  readonly dataDirectory: string;
  /** 0: nothing is measured. */
  readonly days: number;
  /** Null: nothing is exported. */
  readonly otlp: OtlpSettings | null;
  readonly programVersion: string;
  /** Where the requests of applications wait. */
  readonly activity: Pick<ScopeActivity, 'measure' | 'takeServed'>;
  /** The version of a vertical that serves. */
  readonly servingVersion: (vertical: string) => string | undefined;
  /** The version of a bundle that was deployed. */
  readonly versionOfBundle: (vertical: string, digest: string) => string | null;
  readonly now: () => number;
  readonly onIncident: IncidentSink;
}

/** A place for lines: the store, the export. */
interface Sink {
  log(line: LogLine): void;
  egress(call: EgressCall): void;
}

const PULL_MS = 500;

export function openTelemetryFeed(options: TelemetryFeedOptions): TelemetryFeed {
  const { dataDirectory, days, activity, now, onIncident } = options;
  const exporter = openExport(options);
  if (days === 0 && exporter === null)
    return { store: null, onLines: () => undefined, close: async () => undefined };
  activity.measure();
  const pull = () => {
    const { lines, dropped } = activity.takeServed();
    const served = lines.map((each) => lineOf(each, options));
    exporter?.served(served);
    return { lines: served, dropped };
  };
  const limits = { days };
  const store =
    days === 0
      ? null
      : new EmbeddedTelemetry({ folder: join(dataDirectory, 'telemetry'), limits, pull, now, onIncident });
  const timer = store === null ? setInterval(pull, PULL_MS).unref() : undefined;
  const sinks: readonly Sink[] = [store, exporter].filter((sink) => sink !== null);
  return {
    store,
    onLines: (vertical, lines) => {
      for (const line of lines)
        if (line.kind === 'dropped') reportDropped(vertical, line.lines, onIncident);
        // The meters have counted those, and the operator was told of those.
        else if (line.kind !== 'invoked' && line.kind !== 'failed')
          for (const sink of sinks) take(sink, vertical, line, options);
    },
    close: async () => {
      clearInterval(timer);
      if (store === null) pull();
      else store.close();
      await exporter?.close();
    },
  };
}

function openExport({ otlp, programVersion, now, onIncident }: TelemetryFeedOptions): OtlpExporter | null {
  if (otlp === null) return null;
  return new OtlpExporter({
    settings: otlp,
    version: programVersion,
    fetch: (url, init) => fetch(url, init),
    now,
    sleep: (ms, signal) => setTimeout(ms, undefined, { signal, ref: false }).catch(() => undefined),
    onIncident,
  });
}

function lineOf(request: ServedRequest, { servingVersion }: TelemetryFeedOptions): ServedLine {
  const { vertical, version, tenant, scope, place, status } = request;
  const { atMs, durationMs, traceId, spanId, parentSpanId } = request;
  // A scope that is bound to a version of its own runs the script of that version.
  const script = servingVersion(vertical) === version ? vertical : `${vertical}--${version}`;
  const about = { script, vertical, version, tenant, scope };
  return { ...about, operation: place, status, atMs, durationMs, traceId, spanId, parentSpanId };
}

function take(
  sink: Sink,
  vertical: string,
  line: Exclude<HostedLine, { kind: 'dropped' | 'invoked' | 'failed' }>,
  { versionOfBundle, now }: TelemetryFeedOptions,
): void {
  const version = versionOfBundle(vertical, line.digest) ?? 'unknown';
  if (line.kind === 'egress') {
    const { atMs, host, bytesOut, status } = line;
    sink.egress({ atMs, vertical, version, host, bytes: bytesOut, failed: status === null });
    return;
  }
  const { tenant = null, scope = null } = line;
  const about = { vertical, version, tenant, scope };
  if (line.kind === 'cut') {
    const text = `${line.lines} more lines of this request were dropped.`;
    sink.log({ ...about, atMs: now(), kind: 'console', level: 'warn', text, stack: null });
    return;
  }
  const { atMs, kind, text } = line;
  if (kind === 'console') sink.log({ ...about, atMs, kind, level: line.level, text, stack: null });
  else sink.log({ ...about, atMs, kind, level: 'error', text: `${line.name}: ${text}`, stack: line.stack });
}

/** Lines that were lost belong to no tenant, so that no list of lines shows them: an issue does. */
function reportDropped(vertical: string, lines: number, onIncident: IncidentSink): void {
  const text = `${lines} lines of the vertical ${vertical} were dropped on their way to the measurements: it writes more than the platform takes, or the platform was too busy.`;
  onIncident(new OperatorNotice(text), { kind: 'telemetry', key: vertical, method: 'lines_dropped' });
}
