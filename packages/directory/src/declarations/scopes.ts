/** The scopes' operations (spec 4.3; design: control-plane-routes, "Scopes"). */
import {
  bookmarksQuery,
  bookmarksResponse,
  CONFIG_KEYS_MAX,
  configPatch,
  deliveryWarning,
  exportFormat,
  migrationsResponse,
  pageOf,
  pageQuery,
  rewindRequest,
  rewindResponse,
  scopeId,
  slug,
  snapshotId,
  snapshotRecord,
  snapshotRequest,
  tenantId,
  timestamp,
} from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { backupId } from './backups.ts';
import { dryRunQuery, planCount, servingEffect } from './dry-run.ts';
import { operationRecord } from './long-work.ts';
import { scopeKind, scopeRecord, scopeStatus } from './records.ts';
import { versionNumber } from './vertical-records.ts';

const tag = 'Scopes';
const params = z.strictObject({ tenant: tenantId, scope: scopeId });

const effectProblems = [
  'not_found',
  'conflict',
  'invalid_transition',
  'unsupported',
  'runtime_fault',
  'unavailable',
] as const;

/** Bounded, because the names of all settings go into a row of the admin log, which is never swept. */
const config = configPatch.meta({ maxProperties: CONFIG_KEYS_MAX });

const filters = {
  vertical: slug.optional().describe('Only scopes of this vertical'),
  status: scopeStatus.optional().describe('Only scopes in this state'),
  version: versionNumber.optional().describe('Only scopes that run this version of their vertical'),
};

export const scopesFleet = adminOperation({
  name: 'scopes.fleet',
  summary: 'List the scopes of every tenant',
  tag,
  method: 'GET',
  path: '/scopes',
  input: {
    query: z.strictObject({
      tenant: tenantId.optional().describe('Only scopes of this tenant'),
      ...filters,
      ...pageQuery,
    }),
  },
  output: pageOf(scopeRecord),
  success: 200,
  builder: 'none',
  audit: 'none',
});

export const scopesList = adminOperation({
  name: 'scopes.list',
  summary: "List a tenant's scopes",
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes',
  input: {
    params: z.strictObject({ tenant: tenantId }),
    query: z.strictObject({ ...filters, ...pageQuery }),
  },
  output: pageOf(scopeRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  problems: ['not_found'],
});

export const scopesProvision = adminOperation({
  name: 'scopes.provision',
  summary: 'Provision a scope',
  description:
    'Idempotent by slug within the tenant: the same name, vertical and kind answer the scope that is there (200), anything else is a conflict. owner and config count only until the scope is active: the directory does not keep them, a scope that is there is answered as it is, and settings are changed with scopes.configure. A provisioning that the vertical refused leaves nothing, and its slug is free. One that was interrupted, or whose outcome is unknown (reason outcome_unknown), is taken up again by the same call. The vertical must be known to this platform (reason unknown_vertical).',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes',
  input: {
    params: z.strictObject({ tenant: tenantId }),
    body: z.strictObject({
      slug,
      name: z.string().min(1).max(200),
      vertical: slug,
      owner: z
        .strictObject({ email: z.email().max(254).optional(), name: z.string().max(200).optional() })
        .optional()
        .describe('Whom the owner seat is meant for. It counts only while the scope is being made'),
      config: config
        .optional()
        .describe('Settings to deliver to the vertical. They count only while the scope is being made'),
      kind: scopeKind.default('live'),
    }),
  },
  output: scopeRecord,
  success: 201,
  builder: 'own-tenant',
  audit: 'audit',
  etag: true,
  problems: [
    'not_found',
    'conflict',
    'invalid_transition',
    'precondition_failed',
    'unsupported',
    'runtime_fault',
    'unavailable',
  ],
});

export const scopesGet = adminOperation({
  name: 'scopes.get',
  summary: 'Get one scope',
  description:
    'Its version changes with its vertical too: the ETag is for If-Match, and no answer is ever 304.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope',
  input: { params },
  output: scopeRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
  volatile: true,
  problems: ['not_found'],
});

export const scopeStatusPlan = z
  .object({
    dryRun: z.literal(true),
    scope: scopeId,
    from: scopeStatus,
    to: scopeStatus,
    effect: servingEffect.describe(
      'What happens to its requests, timers, deliveries and sessions. none also where its tenant is not active',
    ),
    hostnames: z.array(z.string()).describe('Its active names'),
    connections: planCount.describe('How many active ones may act in it'),
  })
  .meta({ id: 'ScopeStatusPlan' });

export const scopesSetStatus = adminOperation({
  name: 'scopes.set-status',
  summary: 'Suspend, resume, archive or unarchive a scope',
  description:
    'active ⇄ suspended; active or suspended → archived → active. Every other step is an invalid_transition. A scope that is not active serves nobody; an archived one takes no settings and is not copied back, and can be reaped. With dryRun, answers what would stop or go on.',
  tag,
  method: 'PUT',
  path: '/tenants/:tenant/scopes/:scope/status',
  input: {
    params,
    query: dryRunQuery,
    body: z.strictObject({ status: z.enum(['active', 'suspended', 'archived']) }),
  },
  output: scopeRecord,
  plan: scopeStatusPlan,
  success: 200,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

export const reapPlan = z
  .object({
    dryRun: z.literal(true),
    scope: scopeRecord,
    hostnames: z.array(z.string()).describe('They are unbound'),
    snapshots: z.int().describe('How many are deleted with the scope'),
    backups: z.int().describe('How many there are; they stay'),
    connections: z
      .array(z.string())
      .describe('They are disconnected; those that act in another scope too stay, and are of that one then'),
    backup: z.boolean().describe('Whether a full backup is taken first'),
  })
  .meta({ id: 'ScopeReapPlan' });

export const scopesReap = adminOperation({
  name: 'scopes.reap',
  summary: 'Delete a scope for good',
  description:
    'Only from archived. Takes a full backup first, unless backup is false, and names its address in the log; a backup that fails leaves the scope as it is (runtime_fault, reason backup_failed). Then the vertical deletes everything, the host names are unbound, connections that act nowhere else are disconnected, and the record stays as a tombstone, whose slug is not used again. With dryRun, answers what would be touched.',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/reap',
  input: {
    params,
    query: z.strictObject({
      dryRun: z.boolean().optional().describe('True answers the plan, and changes nothing'),
    }),
    body: z.strictObject({
      backup: z.boolean().default(true).describe('False deletes without a backup'),
    }),
  },
  output: operationRecord,
  plan: reapPlan,
  success: 202,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: effectProblems,
});

export const scopesConfigure = adminOperation({
  name: 'scopes.configure',
  summary: "Deliver settings to a scope's vertical",
  description:
    'Keys that are not named stay as they are; null removes one. The log keeps the names of the keys and never a value. When nobody knows whether the vertical took them (reason outcome_unknown), make the same call again.',
  tag,
  method: 'PUT',
  path: '/tenants/:tenant/scopes/:scope/configure',
  input: { params, body: z.strictObject({ config }) },
  output: z
    .object({
      keys: z.array(z.string()).describe('Every key that is now delivered'),
      warnings: z.array(deliveryWarning).describe('What the vertical did and wants somebody to look at'),
    })
    .meta({ id: 'DeliveredConfig' }),
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: [
    'not_found',
    'conflict',
    'invalid_transition',
    'precondition_failed',
    'unsupported',
    'runtime_fault',
    'unavailable',
  ],
});

export const migrationsGet = adminOperation({
  name: 'migrations.get',
  summary: 'List the migrations that a scope has applied',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/migrations',
  input: { params },
  output: migrationsResponse.meta({ id: 'AppliedMigrations' }),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  problems: ['not_found', 'unsupported', 'runtime_fault'],
});

/** What an effect on a scope that is there can fail with. */
const repeat = 'When nobody knows whether it was done (reason outcome_unknown), make the same call again.';

export const bookmarksList = adminOperation({
  name: 'bookmarks.list',
  summary: 'List the moments that a rewind can reach, newest first',
  description:
    'earliest is where the window begins, current is now. With at, the last one at or before that moment comes first. An engine that keeps no history answers unsupported.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/bookmarks',
  input: { params, query: bookmarksQuery.omit({ tenantId: true, scopeId: true }) },
  output: bookmarksResponse.meta({ id: 'Bookmarks' }),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  problems: ['not_found', 'unsupported', 'runtime_fault'],
});

const moment = z.object({ bookmark: z.string(), at: timestamp.nullable() });

/** What was written since, as far as it was counted. */
const commits = z.object({
  count: planCount,
  more: z.boolean().describe('True where there are more: they are counted up to 2000'),
});

export const rewindPlan = z
  .object({
    dryRun: z.literal(true),
    scope: scopeId,
    to: moment.describe('Where it would be taken; at is null where it lies further back than was looked'),
    current: moment.nullable().describe('Where it is now'),
    seconds: planCount.nullable().describe('How far back that is'),
    commits: commits.describe('What was written since and is taken back'),
    earliest: timestamp.nullable().describe('Where the window begins'),
    undo: z.literal(true).describe('The answer of the rewind names the bookmark that leads back'),
  })
  .meta({ id: 'ScopeRewindPlan' });

export const scopesRewind = adminOperation({
  name: 'scopes.rewind',
  summary: 'Take a scope back to an earlier moment',
  description: `To a bookmark, or to the last commit at or before a moment: exactly one of the two. The answer names the bookmark that undoes it. Whoever was erased stays erased. An engine that keeps no history answers unsupported. With dryRun, answers where it leads and what would be taken back. ${repeat}`,
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
      .describe('What would take the place of everything in the scope'),
    since: timestamp
      .nullable()
      .describe(
        'What was written after this moment is lost; null for an export, which does not say what it shows',
      ),
    commits: commits.nullable().describe('How much that is; null where nobody knows'),
    undo: z.boolean().describe('Whether the engine can lead back to what is there now'),
  })
  .meta({ id: 'ScopeRestorePlan' });

export const scopesRestore = adminOperation({
  name: 'scopes.restore',
  summary: 'Replace what a scope holds by a copy',
  description:
    'From a snapshot, a backup of this scope, or an export that was brought in with imports.create: exactly one of them. Whole or not at all: a restore that fails leaves the scope as it was. Whoever was erased since the copy was taken stays erased. Its result is a Restored, whose undo leads back where the engine can rewind. When nobody knows whether it was done (reason outcome_unknown), restore again. With dryRun, answers what the copy is, and what was written since and would be lost.',
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
          backup: backupId.optional().describe('A backup of this scope'),
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

const snapshotParams = z.strictObject({ ...params.shape, snapshot: snapshotId });

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
  audit: 'none',
});

export const snapshotsTake = adminOperation({
  name: 'snapshots.take',
  summary: 'Keep a copy of a scope with its vertical',
  description: `A copy inside the platform; scopes.export takes one out. ${repeat} What the first call may have left is then not listed.`,
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/snapshots',
  shortPath: '/scopes/:scope/snapshots',
  input: { params, body: snapshotRequest.omit({ tenantId: true, scopeId: true }) },
  output: snapshotRecord,
  success: 201,
  builder: 'own-tenant',
  audit: 'audit',
  problems: effectProblems,
});

export const snapshotDeletePlan = z
  .object({
    dryRun: z.literal(true),
    snapshot: snapshotRecord,
    others: planCount.describe('How many other snapshots of the scope stay'),
    backups: planCount.describe('How many backups of it there are'),
  })
  .meta({ id: 'SnapshotDeletePlan' });

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
