/** What the platform does by itself while it runs: deliveries, and the daily tidying up. */
import type { IncidentSink } from '@freehold/store';
import { type Deliveries, makeDeliveries } from './deliveries.ts';
import type { Fleet } from './fleet.ts';
import { tidyUp } from './maintenance.ts';
import { startRecurring } from './recurring.ts';
import type { Storage } from './storage.ts';
import type { CoLocatedVertical } from './verticals.ts';

const MINUTE_MS = 60_000;
/** The people who wait for a start come first. What is new in a scope wakes it before that. */
const RESUME_AFTER_MS = 2_000;
/** Not in the rush of a start, and often enough for a platform that is restarted every day. */
const TIDY_FIRST_MS = 10 * MINUTE_MS;
const TIDY_INTERVAL_MS = 24 * 60 * MINUTE_MS;

export interface BackgroundOptions {
  readonly storage: Pick<Storage, 'engine' | 'vaultUnit' | 'blobArchive'>;
  /** By slug. */
  readonly verticals: ReadonlyMap<string, CoLocatedVertical>;
  readonly fleet: Fleet;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onIncident: IncidentSink;
}

export interface Background extends Pick<Deliveries, 'wake'> {
  /** Everything is up: a moment later each scope is looked into for what is left from before. */
  begin(): void;
  /** Somebody was suspended or let in. */
  refresh(): void;
  /** Begins nothing new, and resolves when nothing is under way. */
  stop(): Promise<void>;
}

/** Starts it. */
export function startBackground({
  storage,
  verticals,
  fleet,
  now,
  onIncident,
}: BackgroundOptions): Background {
  const deliveries = makeDeliveries({
    verticals: new Map(
      [...verticals].map(([slug, { host, units }]) => [slug, { vertical: units.scope.vertical, host }]),
    ),
    fleet,
    now,
    onIncident,
  });
  const stopTidying = startRecurring({
    firstMs: TIDY_FIRST_MS,
    intervalMs: TIDY_INTERVAL_MS,
    work: (signal) => tidyUp({ ...storage, verticals, fleet, onIncident }, signal),
    onError: (error) => onIncident(error, { kind: 'platform', key: 'maintenance', method: 'tidyUp' }),
  });
  let beginning: NodeJS.Timeout | undefined;
  return {
    wake: deliveries.wake,
    begin: () => {
      beginning = setTimeout(() => void deliveries.resume(), RESUME_AFTER_MS).unref();
    },
    refresh: () => void deliveries.resume(),
    stop: async () => {
      clearTimeout(beginning);
      await Promise.all([stopTidying(), deliveries.stop()]);
    },
  };
}
