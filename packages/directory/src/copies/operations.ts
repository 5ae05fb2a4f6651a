/** Copies and rewinds of a scope in the directory: intents, outcomes and the list of snapshots. Effects: `host-admin-copies.ts`. */
import {
  examinedCopy,
  exportFormat,
  lineOfText,
  PlatformError,
  pageOf,
  pageQuery,
  type Restored,
  type Rewound,
  rewindRequest,
  rewindResponse,
  type SnapshotRecord,
  scopeId,
  snapshotId,
  snapshotRecord,
  snapshotRequest,
  timestamp,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import { requireBackupOfTenant } from '../backups/store.ts';
import { adminOperation, dryRunQuery, planCount } from '../declarations/admin-operation.ts';
import type { BackupRecord } from '../declarations/backups.ts';
import { backupId } from '../declarations/backups.ts';
import { operationRecord } from '../declarations/long-work.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { effectProblems, params, tag } from '../declarations/scopes.ts';
import { type CallOf, delegated, longWork, read } from '../lib/handlers.ts';
import { targetOf } from '../scopes/operations.ts';
import { requireScope, type ScopeRow, scopeOfRow } from '../scopes/store.ts';
import { scopeSubject } from '../scopes/target.ts';
import { forgetSnapshot, listSnapshots, requireSnapshot, saveSnapshot } from './snapshot-store.ts';

const repeat = 'When it is unknown whether it was done (reason outcome_unknown), make the same call again.';

const moment = z.object({ bookmark: z.string(), at: timestamp.nullable() });

/** The commits since a moment, as far as they were counted. */
const commits = z.object({
  count: planCount,
  more: z.boolean().describe('True where there are more: they are counted up to 2000'),
});

export const rewindPlan = z
  .object({
    dryRun: z.literal(true),
    scope: scopeId,
    to: moment.describe('The target; at is null where it lies further back than was searched'),
    current: moment.nullable().describe('The present moment of the scope'),
    seconds: planCount.nullable().describe('The distance from now'),
    commits: commits.describe('The commits since, which are taken back'),
    earliest: timestamp.nullable().describe('The beginning of the window'),
    undo: z.literal(true).describe('The answer of the rewind names the bookmark that leads back'),
  })
  .meta({ id: 'ScopeRewindPlan' });

export const restorePlan = z
  .object({
    dryRun: z.literal(true),
    scope: scopeId,
    from: z
      .object({
        kind: z.enum(['snapshot', 'backup', 'export']),
        id: z.string(),
        at: timestamp.describe('When it was taken; of an export: when it was brought in'),
        bytes: planCount,
        format: exportFormat.nullable().describe('null for a snapshot, which the vertical keeps in its own'),
        sha256: z
          .string()
          .describe('Of its bytes. Those of a backup are read through before anything is replaced'),
        bookmark: z.string().nullable().describe('The moment that it shows, where the engine has bookmarks'),
      })
      .describe('The copy that would replace everything in the scope'),
    since: timestamp
      .nullable()
      .describe('Everything written after this moment is lost; null for an export, whose moment is unknown'),
    commits: commits.nullable().describe('How much that is; null where it is unknown'),
    undo: z.boolean().describe('Whether the engine can lead back to the present state'),
    present: z
      .enum(['sound', 'damaged', 'missing'])
      .describe('The present database of the scope. A damaged one is put aside, under a name that says when'),
    copy: examinedCopy
      .nullable()
      .describe(
        'What the vertical found in the copy, which it checked as a restore does; null: it cannot look into one',
      ),
  })
  .meta({ id: 'ScopeRestorePlan' });

/** The name of a copy, as a restore takes it. */
export type CopyName = CallOf<typeof scopesRestore>['body']['from'];

const snapshotParams = z.strictObject({ ...params.shape, snapshot: snapshotId });

export const snapshotDeletePlan = z
  .object({
    dryRun: z.literal(true),
    snapshot: snapshotRecord,
    others: planCount.describe('How many other snapshots of the scope stay'),
    backups: planCount.describe('How many backups of it there are'),
  })
  .meta({ id: 'SnapshotDeletePlan' });

export const snapshotsList = adminOperation({
  name: 'snapshots.list',
  summary: 'List the snapshots of a scope, newest first',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/snapshots',
  shortPath: '/scopes/:scope/snapshots',
  input: { params, query: z.strictObject(pageQuery) },
  output: pageOf(snapshotRecord),
  success: 200,
  builder: 'own-tenant',
  pushToken: 'read',
  audit: 'none',
});

export const readSnapshots = /* @__PURE__ */ read(snapshotsList, ({ db }, { params, query }) => {
  const { id } = requireScope(db, params);
  return { value: listSnapshots(db, { ...query, scope: id }) };
});

export const snapshotsTake = adminOperation({
  name: 'snapshots.take',
  summary: 'Keep a copy of a scope with its vertical',
  description: `A copy inside the platform; scopes.export takes one out. ${repeat} A copy that the first call may have left is then not listed.`,
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/snapshots',
  shortPath: '/scopes/:scope/snapshots',
  input: {
    params,
    body: snapshotRequest
      .omit({ tenantId: true, scopeId: true })
      .extend({ name: lineOfText(200).optional() }),
  },
  output: snapshotRecord,
  success: 201,
  builder: 'own-tenant',
  audit: 'audit',
  problems: effectProblems,
});

export const takeSnapshot = /* @__PURE__ */ delegated<typeof snapshotsTake, ScopeRecord, SnapshotRecord>(
  snapshotsTake,
  {
    begin: ({ db }, { params, body }) => {
      const row = requireReachable(db, params);
      return {
        intent: { target: targetOf(row), before: null, after: { name: body.name ?? null } },
        prepared: scopeOfRow(row),
      };
    },
    settle: ({ db }, { params }, snapshot) => {
      const row = requireScope(db, params);
      saveSnapshot(db, row.id, snapshot);
      const target = { ...targetOf(row), other: snapshot.id };
      return {
        status: 201,
        value: snapshot,
        audit: {
          target,
          before: null,
          after: { name: snapshot.name, bytes: snapshot.bytes, digest: snapshot.digest },
        },
      };
    },
  },
);

export const snapshotsDelete = adminOperation({
  name: 'snapshots.delete',
  summary: 'Delete a snapshot',
  tag,
  method: 'DELETE',
  path: '/tenants/:tenant/scopes/:scope/snapshots/:snapshot',
  shortPath: '/scopes/:scope/snapshots/:snapshot',
  input: { params: snapshotParams, query: dryRunQuery },
  output: z.null(),
  plan: snapshotDeletePlan,
  success: 204,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  problems: effectProblems,
});

export const deleteSnapshot = /* @__PURE__ */ delegated<typeof snapshotsDelete, ScopeRecord, null>(
  snapshotsDelete,
  {
    begin: ({ db }, { params }) => {
      const row = requireReachable(db, params);
      const { name, digest } = requireSnapshot(db, row.id, params.snapshot);
      const target = { ...targetOf(row), other: params.snapshot };
      const after = { snapshot: params.snapshot };
      return { intent: { target, before: { name, digest }, after }, prepared: scopeOfRow(row) };
    },
    settle: ({ db }, { params }) => {
      const row = requireScope(db, params);
      forgetSnapshot(db, row.id, params.snapshot);
      const target = { ...targetOf(row), other: params.snapshot };
      return { status: 204, value: null, audit: { target, before: null, after: null } };
    },
    // The deletion of one snapshot proves nothing about another.
    supersedes: ({ params }, earlier) => earlier?.snapshot === params.snapshot,
  },
);

/** The work of a restore. */
export interface RestoreWork {
  readonly scope: ScopeRecord;
  readonly from: { readonly snapshot: string } | { readonly backup: BackupRecord };
  /** The fields for the log. */
  readonly logged: { readonly from: Readonly<Record<string, string>>; readonly digest: string };
}

export const scopesRestore = adminOperation({
  name: 'scopes.restore',
  summary: 'Replace the content of a scope by a copy',
  description:
    'From a snapshot, a backup, or an export that was brought in with imports.create: exactly one of them. Whole or not at all: a restore that fails leaves the scope as it was. A scope whose database is damaged or gone is restored too, and the damaged file is put aside under a name that says when. A backup of another scope brings its members, its owner and its attachments, and its sealed data is sealed anew. A person who was erased since the copy was taken stays erased, and members and their roles are those of today. Its result is a Restored, whose undo leads back where the engine can rewind. When it is unknown whether it was done (reason outcome_unknown), restore again. With dryRun, answers the copy, and how much was written since and would be lost.',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/restore',
  input: {
    params,
    query: dryRunQuery,
    body: z.strictObject({
      from: z
        .strictObject({
          snapshot: snapshotId.optional().describe('A snapshot of this scope'),
          backup: backupId
            .optional()
            .describe(
              'A backup of this scope, or of another of the same tenant and vertical, reaped ones too',
            ),
          export: backupId.optional().describe('What imports.create answered for this scope'),
        })
        .refine((from) => Object.values(from).filter(Boolean).length === 1, 'names exactly one copy')
        .meta({ minProperties: 1, maxProperties: 1 }),
    }),
  },
  output: operationRecord,
  plan: restorePlan,
  success: 202,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  problems: effectProblems,
});

export const restoreScope = /* @__PURE__ */ longWork<typeof scopesRestore, RestoreWork, Restored>(
  scopesRestore,
  {
    begin: ({ db }, { params, body }) => {
      const row = requireReachable(db, params);
      const { from, digest } = requireCopy(db, row, body.from);
      const logged = { from: body.from as Record<string, string>, digest };
      return {
        intent: { target: targetOf(row), before: null, after: logged },
        work: { scope: scopeOfRow(row), from, logged },
        subject: scopeSubject(row.id),
        unit: 'bytes',
      };
    },
    settle: (_context, { scope, logged: { from } }, restored) => ({
      result: restored,
      audit: {
        target: targetOf(scope),
        before: null,
        after: { from, ...loggedResult(restored) },
      },
    }),
  },
);

/** The fields of a restore in the admin log. */
function loggedResult({ tables, rows, undo, setAside, roles, members, attachments }: Restored) {
  return {
    tables,
    rows,
    undo,
    ...(setAside === undefined ? {} : { setAside }),
    ...(roles === undefined ? {} : { roles }),
    ...(members === undefined ? {} : { members }),
    ...(attachments === undefined ? {} : { attachments: { ...attachments } }),
  };
}

export const scopesRewind = adminOperation({
  name: 'scopes.rewind',
  summary: 'Take a scope back to an earlier moment',
  description: `To a bookmark, or to the last commit at or before a moment: exactly one of the two. The answer names the bookmark that undoes it. An erased person stays erased, and members and their roles are those of today. An engine that keeps no history answers unsupported. With dryRun, answers the target and how much would be taken back. ${repeat}`,
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/rewind',
  input: {
    params,
    query: dryRunQuery,
    body: z
      .strictObject({ bookmark: rewindRequest.shape.bookmark, at: rewindRequest.shape.at })
      .refine(
        ({ bookmark, at }) => (bookmark === undefined) !== (at === undefined),
        'names a bookmark or a moment',
      )
      .meta({ minProperties: 1, maxProperties: 1 }),
  },
  output: rewindResponse,
  plan: rewindPlan,
  success: 200,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  problems: effectProblems,
});

export const rewindScope = /* @__PURE__ */ delegated<typeof scopesRewind, ScopeRecord, Rewound>(
  scopesRewind,
  {
    begin: ({ db }, { params, body }) => {
      const row = requireReachable(db, params);
      return {
        intent: { target: targetOf(row), before: null, after: { to: body } },
        prepared: scopeOfRow(row),
      };
    },
    settle: ({ db }, { params }, rewound) => ({
      status: 200,
      value: rewound,
      audit: { target: targetOf(requireScope(db, params)), before: null, after: { ...rewound } },
    }),
  },
);

/**
 * The copy that a restore names: of this scope, or a backup of another one of its tenant and its vertical, reaped ones too.
 * @throws PlatformError `not_found`; `conflict`, reason `other_vertical`.
 */
export function requireCopy(
  db: SqlDatabase,
  { id: scope, tenant, vertical }: Pick<ScopeRow, 'id' | 'tenant' | 'vertical'>,
  { snapshot, backup, export: uploaded }: CopyName,
): { readonly from: RestoreWork['from']; readonly digest: string } {
  if (snapshot !== undefined) {
    const { digest } = requireSnapshot(db, scope, snapshot);
    return { from: { snapshot }, digest };
  }
  const record = requireBackupOfTenant(db, String(backup ?? uploaded), tenant);
  // The caller of `export` means a copy from outside, and gets no other.
  if (uploaded !== undefined && (record.origin !== 'upload' || record.scope !== scope))
    throw new PlatformError('not_found', 'There is no such export here.', { reason: 'unknown_export' });
  if (record.vertical !== vertical)
    throw new PlatformError(
      'conflict',
      `This is a backup of an instance of ${record.vertical}, and this scope is one of ${vertical}.`,
      { reason: 'other_vertical' },
    );
  return { from: { backup: record }, digest: record.sha256 };
}

/** The scope, active or suspended. @throws PlatformError `invalid_transition` for a scope without data to copy. */
export function requireReachable(
  db: SqlDatabase,
  ref: { readonly tenant: string; readonly scope: string },
): ScopeRow {
  const row = requireScope(db, ref);
  if (row.status === 'active' || row.status === 'suspended') return row;
  throw new PlatformError('invalid_transition', `This scope is ${row.status}.`, {
    reason: 'scope_not_active',
  });
}
