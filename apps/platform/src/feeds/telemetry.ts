/** Feeds the store of measurements: requests that were served, and what deployed verticals say and call. */
import { join } from 'node:path';
import type { HostedLine } from '@freehold/runtime-workerd';
import type { IncidentSink } from '@freehold/store';
import { EmbeddedTelemetry, type ServedLine } from '@freehold/telemetry';
import type { ScopeActivity } from '../network/activity.ts';
import type { ServedRequest } from '../network/router.ts';

export interface TelemetryFeed {
  /** Null where nothing is measured. */
  readonly store: EmbeddedTelemetry | null;
  readonly onLines: (vertical: string, lines: readonly HostedLine[]) => void;
}

export interface TelemetryFeedOptions {
  readonly dataDirectory: string;
  /** 0: nothing is measured. */
  readonly days: number;
  /** Where the requests of applications wait. */
  readonly activity: Pick<ScopeActivity, 'measure' | 'takeServed'>;
  /** The version of a vertical that serves. */
  readonly servingVersion: (vertical: string) => string | undefined;
  /** The version of a bundle that was deployed. */
  readonly versionOfBundle: (vertical: string, digest: string) => string | null;
  readonly now: () => number;
  readonly onIncident: IncidentSink;
}

export function openTelemetryFeed(options: TelemetryFeedOptions): TelemetryFeed {
  const { dataDirectory, days, activity, now, onIncident } = options;
  if (days === 0) return { store: null, onLines: () => undefined };
  activity.measure();
  const folder = join(dataDirectory, 'telemetry');
  const store = new EmbeddedTelemetry({
    folder,
    limits: { days },
    pull: () => {
      const { lines, dropped } = activity.takeServed();
      return { lines: lines.map((each) => lineOf(each, options)), dropped };
    },
    now,
    onIncident,
  });
  return {
    store,
    onLines: (vertical, lines) => {
      for (const line of lines) take(store, vertical, line, options);
    },
  };
}

function lineOf(
  { surface: _surface, method: _method, place, ...served }: ServedRequest,
  { servingVersion }: TelemetryFeedOptions,
): ServedLine {
  const { vertical, version } = served;
  return {
    // A scope that is bound to a version of its own runs the script of that version.
    script: servingVersion(vertical) === version ? vertical : `${vertical}--${version}`,
    operation: place,
    ...served,
  };
}

function take(
  store: EmbeddedTelemetry,
  vertical: string,
  line: HostedLine,
  { servingVersion, versionOfBundle, now }: TelemetryFeedOptions,
): void {
  const nowhere = { tenant: null, scope: null, stack: null };
  if (line.kind === 'dropped') {
    const text = `${line.lines} lines of this vertical were dropped on their way here.`;
    const version = servingVersion(vertical) ?? 'unknown';
    store.log({ atMs: now(), vertical, version, ...nowhere, kind: 'console', level: 'warn', text });
    return;
  }
  const version = versionOfBundle(vertical, line.digest) ?? 'unknown';
  if (line.kind === 'egress') {
    const { atMs, host, bytesOut, status } = line;
    store.egress({ atMs, vertical, version, host, bytes: bytesOut, failed: status === null });
    return;
  }
  if (line.kind === 'cut') {
    const text = `${line.lines} more lines of this request were dropped.`;
    store.log({ atMs: now(), vertical, version, ...nowhere, kind: 'console', level: 'warn', text });
    return;
  }
  const { atMs, tenant = null, scope = null } = line;
  const about = { atMs, vertical, version, tenant, scope };
  if (line.kind === 'console')
    store.log({ ...about, kind: 'console', level: line.level, text: line.text, stack: null });
  else
    store.log({
      ...about,
      kind: 'exception',
      level: 'error',
      text: `${line.name}: ${line.text}`,
      stack: line.stack,
    });
}
