/** The operations of issues, and the unit's method that takes incidents in. */

import { PlatformError, slug } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import {
  fingerprint,
  ISSUES_MAX,
  type IssueRecord,
  issueRecord,
  issueStatus,
} from '../declarations/issues.ts';
import { defineFeature } from '../lib/feature.ts';
import { type Change, change, read } from '../lib/handlers.ts';
import { type CountedIncident, ingest } from './ingest.ts';
import { issueMigrations } from './schema.ts';
import { type IssueRow, issueOfRow, listIssues, loadIssue, saveIssue } from './store.ts';

const tag = 'Issues';

/** The verdicts of staff. `regressed` is an observation that only ingest makes. */
const verdict = z.enum(['resolved', 'ignored', 'open'], {
  error: (issue) =>
    issue.input === 'regressed'
      ? 'regressed is set by the platform when a resolved issue is seen again, never by a caller'
      : 'must be resolved, ignored or open',
});

export const issuesList = adminOperation({
  name: 'issues.list',
  summary: 'List the issues, most recently seen first',
  description: `One line for each kind of error. There is no cursor: at most ${ISSUES_MAX} are kept.`,
  tag,
  method: 'GET',
  path: '/issues',
  input: {
    query: z.strictObject({
      status: issueStatus.optional().describe('Only issues in this state'),
      vertical: slug.optional().describe('Only issues of this vertical'),
      limit: z.int().min(1).max(ISSUES_MAX).default(100).describe('How many items at most'),
    }),
  },
  output: z.object({ items: z.array(issueRecord) }),
  success: 200,
  builder: 'none',
  audit: 'none',
});

export const readIssues = /* @__PURE__ */ read(issuesList, ({ db }, { query }) => ({
  value: { items: listIssues(db, query) },
}));

export const issuesSetStatus = adminOperation({
  name: 'issues.set-status',
  summary: 'Resolve, ignore or reopen an issue',
  description:
    'Every verdict is possible in every state; the present one again changes nothing. regressed is refused: only the platform sets it.',
  tag,
  method: 'PUT',
  path: '/issues/status',
  input: { body: z.strictObject({ fingerprint, status: verdict }) },
  output: issueRecord,
  success: 200,
  builder: 'none',
  audit: 'audit',
  etag: true,
  problems: ['not_found'],
});

export const setIssueStatus = /* @__PURE__ */ change(issuesSetStatus, (context, { body, ifMatch }) => {
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

export const issuesFeature = /* @__PURE__ */ defineFeature({
  operations: [readIssues, setIssueStatus],
  migrations: [issueMigrations],
  methods: issueMethods,
});
