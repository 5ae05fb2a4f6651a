/**
 * Counts incidents in issues (spec 3.3), in the directory's transaction. An issue begins `open`. A resolved issue has
 * `regressed` when it is seen again in the same or a later version; every other state stays. The number of issues is bounded,
 * and so is the number of those that differ in their messages alone.
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

/** Issues of one error at one place with different messages. Beyond that the messages hold unrecognised values. */
const KIN_MAX = 20;
/** An issue that was not seen for so long makes room for a new one. */
const STALE_AFTER_MS = 30 * 24 * 60 * 60 * 1000;

/** The message of an issue that counts the incidents beyond the bound of its group. */
const REST_MESSAGE = 'Further errors of this kind, whose messages are not kept apart';
/** The issue that counts the incidents beyond all bounds. */
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

/** The issue that counts a new fault: its own, the rest of its group, or that of all others. */
function place({ db, now }: UnitContext, incident: CountedIncident): CountedIncident {
  const { kin, fingerprint } = incident;
  if (fingerprint === OVERFLOW_FINGERPRINT) return incident;
  const isTooMany = countKin(db, kin) >= KIN_MAX;
  const line = isTooMany ? { ...incident, fingerprint: restOf(kin), message: REST_MESSAGE } : incident;
  if (isTooMany && loadIssue(db, line.fingerprint)) return line;
  // One place stays free for the issue of all others.
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
    sample,
    revision: 0,
  };
}

function seenAgain(row: IssueRow, { count, firstSeenMs, lastSeenMs, sample }: CountedIncident): IssueRow {
  const { version } = sample;
  const regressed =
    row.status === 'resolved' &&
    // An incident from before the verdict is no regression, even when it arrives later.
    lastSeenMs >= (row.resolvedAtMs ?? 0) &&
    isSameOrLater(version, row.resolvedIn);
  return {
    ...row,
    count: row.count + count,
    firstSeenMs: Math.min(row.firstSeenMs, firstSeenMs),
    lastSeenMs: Math.max(row.lastSeenMs, lastSeenMs),
    newestVersion:
      version !== null && isSameOrLater(version, row.newestVersion) ? version : row.newestVersion,
    ...(lastSeenMs >= row.lastSeenMs ? { sample } : {}),
    ...(regressed ? { status: 'regressed', regressions: row.regressions + 1 } : {}),
  };
}
