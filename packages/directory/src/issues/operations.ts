/** What staff do with issues, and the unit's method that takes incidents in. */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { type IssueRecord, issuesList, issuesSetStatus } from '../declarations/issues.ts';
import { type Change, change, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { type CountedIncident, ingest } from './ingest.ts';
import { type IssueRow, issueOfRow, listIssues, loadIssue, saveIssue } from './store.ts';

export const readIssues = read(issuesList, ({ db }, { query }) => ({
  value: { items: listIssues(db, query) },
}));

export const setIssueStatus = change(issuesSetStatus, (context, { body, ifMatch }) => {
  const { db, revision } = context;
  const before = loadIssue(db, body.fingerprint);
  if (!before) throw new PlatformError('not_found', 'There is no such issue.', { reason: 'unknown_issue' });
  requireMatch(ifMatch, issueOfRow(before).etag);
  if (before.status === body.status) return answer(before, null);
  const resolved = body.status === 'resolved';
  const after: IssueRow = {
    ...before,
    status: body.status,
    resolvedIn: resolved ? before.newestVersion : null,
    resolvedAtMs: resolved ? context.now() : null,
    revision,
  };
  saveIssue(db, after);
  return answer(after, before);
});

function answer(row: IssueRow, before: IssueRow | null): Change<IssueRecord> {
  const value = issueOfRow(row);
  const target = { tenant: null, scope: null, vertical: row.vertical, other: row.fingerprint };
  return {
    status: 200,
    value,
    etag: value.etag,
    audit: before && { target, before: { status: before.status }, after: { status: row.status } },
  };
}

export const issueMethods = (context: UnitContext) => ({
  /** Counts a batch of incidents in one transaction. */
  ingestIncidents: ({ incidents }: { readonly incidents: readonly CountedIncident[] }): null => {
    for (const incident of incidents) ingest(context, incident);
    return null;
  },
});
