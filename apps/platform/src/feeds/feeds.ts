/**
 * Where what went wrong is told: every incident to the operator's log and to the issues, every failure of the platform's
 * own work to the operations log. Whoever tells is never kept waiting and never fails for it.
 */

import { PlatformError } from '@freehold/contracts';
import type { DirectoryHostAdmin, OpsFailureInput } from '@freehold/directory';
import type { IncidentSink } from '@freehold/store';
import { incidentOf, type KnownFleet } from './incident-of.ts';
import { servedNode } from './serving.ts';

/** What is told. */
export type FeedAdmin = Pick<DirectoryHostAdmin, 'ingestIncident' | 'recordOpsFailure'>;
export type FailureSink = (failure: OpsFailureInput) => void;

export interface Feeds {
  readonly onIncident: IncidentSink;
  /** The same failure of the same thing is one row an hour: what is tried again each minute would hide all else. */
  readonly onFailure: FailureSink;
  /** From here on the directory is told too; what came before is told now. */
  open(admin: FeedAdmin): void;
}

export interface FeedsOptions extends KnownFleet {
  /** The operator's own log. It must not throw. */
  readonly report: IncidentSink;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const HOUR_MS = 3_600_000;
/** What is kept for the directory while it is not open yet. */
const WAITING_MAX = 100;
/** What the directory does when it is told: an incident of that is the operator's alone, or it would never end. */
const OWN_METHODS = new Set(['ingestIncidents', 'recordOpsFailures']);

export function makeFeeds({ report, now, ...fleet }: FeedsOptions): Feeds {
  const repeats = makeRepeats(now);
  let admin: FeedAdmin | null = null;
  const waiting: ((admin: FeedAdmin) => void)[] = [];
  const tell = (task: (admin: FeedAdmin) => void): void => {
    if (admin) task(admin);
    else if (waiting.length < WAITING_MAX) waiting.push(task);
  };

  const onFailure: FailureSink = (failure) => {
    const { operation, tenant = '', scope = '', subject = '', reason } = failure;
    if (!repeats.isNews([operation, tenant, scope, subject].join(' '), reason, HOUR_MS)) return;
    tell((to) => {
      // Only the operator is left to be told of that.
      to.recordOpsFailure(failure).catch((error: unknown) =>
        report(error, { kind: 'platform', key: 'operations-log', method: 'recordOpsFailure' }),
      );
    });
  };

  return {
    onIncident: (error, where) => {
      report(error, where);
      if (where.kind === 'directory' && OWN_METHODS.has(where.method)) return;
      const incident = incidentOf(error, where, servedNode(), fleet);
      tell((to) => void to.ingestIncident(incident));
      const failure = archiveFailure(error, where);
      if (failure) onFailure(failure);
    },
    onFailure,
    open: (opened) => {
      admin = opened;
      for (const task of waiting.splice(0)) task(opened);
    },
  };
}

/** What does not arrive in the archive is work that failed, beside the fault that it is. */
function archiveFailure(
  error: unknown,
  { kind, key, method }: Parameters<IncidentSink>[1],
): OpsFailureInput | null {
  if (kind !== 'archive' && method !== 'archive') return null;
  return {
    operation: 'archive.ship',
    subject: `${kind}/${key}`.slice(0, 128),
    reason: reasonOf(error),
    detail: 'Something did not arrive in the archive; it is tried again.',
  };
}

/** The stable word of an error, or `internal` for one that has none. */
export function reasonOf(error: unknown): string {
  const word =
    error instanceof PlatformError ? (error.reason ?? error.code) : (error as { code?: unknown })?.code;
  return typeof word === 'string' && /^[a-z][a-z0-9_.-]{0,63}$/.test(word) ? word : 'internal';
}

export interface Repeats {
  /** Whether this was not said of this unit within that time. What is news is remembered as said. */
  isNews(unit: string, word: string, forMs: number): boolean;
}

/**
 * Units remembered: more than any sweep goes over, at some hundred bytes each. Beyond, the one that was spoken of longest
 * ago is forgotten, and is news again.
 */
const UNITS_MAX = 100_000;

/** @param now milliseconds since the epoch. Kept in memory: a new process says everything once again. */
export function makeRepeats(now: () => number): Repeats {
  const said = new Map<string, { readonly word: string; readonly atMs: number }>();
  return {
    isNews: (unit, word, forMs) => {
      const last = said.get(unit);
      if (last?.word === word && now() - last.atMs < forMs && now() >= last.atMs) return false;
      said.delete(unit);
      said.set(unit, { word, atMs: now() });
      const [oldest] = said.keys();
      if (said.size > UNITS_MAX && oldest !== undefined) said.delete(oldest);
      return true;
    },
  };
}
