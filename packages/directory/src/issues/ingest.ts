/**
 * What an incident does to the issues (spec 3.3), inside the directory's transaction. An issue begins `open`; one that
 * was resolved and is seen again, in the version it was last seen in or a later one, has `regressed`; every other
 * state stays as it is. How many issues there can be is bounded, and so is how many differ only in their words.
 */
import type { UnitContext } from '@freehold/store';
import { ISSUES_MAX } from '../declarations/issues.ts';
import { OVERFLOW_FINGERPRINT, restOf } from './fingerprint.ts';
import {
  countIssues,
  countKin,
  type IssueRow,
  type IssueSample,
  loadIssue,
  makeRoom,
  saveIssue,
} from './store.ts';
import { isSameOrLater } from './versions.ts';

/** Incidents of one fault in one version, counted. Plain JSON, redacted. */
export interface CountedIncident {
  readonly fingerprint: string;
  readonly kin: string;
  readonly vertical: string | null;
  readonly where: string;
  readonly name: string;
  readonly message: string;
  readonly count: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  /** The latest. */
  readonly sample: IssueSample;
}

/** Issues of one error at one place whose words differ. Beyond that the words hold values that nobody recognised. */
const KIN_MAX = 20;
/** An issue that nobody has seen for so long makes room for one that somebody sees now. */
const STALE_AFTER_MS = 30 * 24 * 60 * 60 * 1000;

/** Nothing of an issue that takes up what is too much tells one occurrence from another. */
const REST_MESSAGE = 'Further errors of this kind, whose messages are not kept apart';
/** What the last resort of all looks like. */
export const OVERFLOW = {
  fingerprint: OVERFLOW_FINGERPRINT,
  kin: OVERFLOW_FINGERPRINT,
  vertical: null,
  where: 'anywhere',
  name: 'Error',
  message: 'Further errors, for which there is no room',
} as const;

/** Counts one line of a batch. */
export function ingest(context: UnitContext, incident: CountedIncident): void {
  const { db } = context;
  const line = loadIssue(db, incident.fingerprint) ? incident : place(context, incident);
  const row = loadIssue(db, line.fingerprint);
  saveIssue(db, row ? seenAgain(row, line) : seenFirst(line));
}

/** Where a fault that nobody has seen yet is counted: by itself, with the rest of its kin, or with everything else. */
function place({ db, now }: UnitContext, incident: CountedIncident): CountedIncident {
  const { kin, fingerprint } = incident;
  if (fingerprint === OVERFLOW_FINGERPRINT) return incident;
  const isTooMany = countKin(db, kin) >= KIN_MAX;
  const line = isTooMany ? { ...incident, fingerprint: restOf(kin), message: REST_MESSAGE } : incident;
  if (isTooMany && loadIssue(db, line.fingerprint)) return line;
  // The last place of all is kept for what finds none.
  if (countIssues(db) < ISSUES_MAX - 1 || makeRoom(db, now() - STALE_AFTER_MS)) return line;
  return { ...incident, ...OVERFLOW };
}

function seenFirst({ where, sample, ...incident }: CountedIncident): IssueRow {
  return {
    ...incident,
    place: where,
    status: 'open',
    regressions: 0,
    newestVersion: sample.version,
    resolvedIn: null,
    resolvedAtMs: null,
    sample: JSON.stringify(sample),
    revision: 0,
  };
}

function seenAgain(row: IssueRow, { count, firstSeenMs, lastSeenMs, sample }: CountedIncident): IssueRow {
  const { version } = sample;
  const regressed =
    row.status === 'resolved' &&
    // What was seen before the verdict is not seen again, even when it arrives after it.
    lastSeenMs >= (row.resolvedAtMs ?? 0) &&
    isSameOrLater(version, row.resolvedIn);
  return {
    ...row,
    count: row.count + count,
    firstSeenMs: Math.min(row.firstSeenMs, firstSeenMs),
    lastSeenMs: Math.max(row.lastSeenMs, lastSeenMs),
    newestVersion:
      version !== null && isSameOrLater(version, row.newestVersion) ? version : row.newestVersion,
    ...(lastSeenMs >= row.lastSeenMs ? { sample: JSON.stringify(sample) } : {}),
    ...(regressed ? { status: 'regressed', regressions: row.regressions + 1 } : {}),
  };
}
