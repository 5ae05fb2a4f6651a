/**
 * Discarding a version: the runtime forgets its files. The row stays, since a number is never used again; it is as it was
 * registered, so that the same content can be deployed again.
 */
import { PlatformError, type ScopeId, slug, type TenantId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import { aboutOf } from '../access/reach.ts';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation, dryRunQuery, planCount } from '../declarations/admin-operation.ts';
import { type VersionRecord, versionId, versionRecord } from '../declarations/vertical-records.ts';
import { tag } from '../declarations/verticals.ts';
import type { Effect } from '../lib/effects.ts';
import { type AuditEntry, delegated, planned } from '../lib/handlers.ts';
import { askRuntime, type DeployDeps, requireRuntime, turnOf, type VerticalRuntime } from './deploy.ts';
import { targetOf } from './operations.ts';
import {
  isBound,
  requireVersion,
  updateVersion,
  type VersionRow,
  versionOfRow,
  versionTag,
} from './versions-store.ts';
import { requireVertical, type VerticalRow } from './verticals-store.ts';

/** The files that no other version has. */
const freed = {
  files: planCount.describe('How many of its files no other version has'),
  bytes: z.int().min(0).describe('The size of those files'),
};

const discardPlan = z
  .object({ dryRun: z.literal(true), version: versionRecord.describe('The version as it is now'), ...freed })
  .meta({ id: 'VersionDiscardPlan' });

export const versionDiscarded = z
  .object({ version: versionRecord, ...freed })
  .meta({ id: 'VersionDiscarded' });

export const versionsDiscard = adminOperation({
  name: 'vertical-versions.discard',
  summary: 'Remove the files of a version',
  description:
    'Its files go, but for those that other versions have too; the version stays listed, and is pending until the same content is deployed again. Refused (reason version_in_use) for the version that serves, for the one before it that a rollback goes to, and for one that a scope is bound to or still runs. With dryRun, answers how much would go.',
  tag,
  method: 'POST',
  path: '/verticals/:slug/versions/:id/discard',
  input: { params: z.strictObject({ slug, id: versionId }), query: dryRunQuery },
  output: versionDiscarded,
  plan: discardPlan,
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  etag: true,
  problems: ['conflict', 'unsupported', 'runtime_fault'],
});

type Freed = Awaited<ReturnType<VerticalRuntime['discard']>>;

/** The version before the call, in case the runtime refuses. */
type Before = Pick<VersionRow, 'status' | 'reviewedBy' | 'note' | 'uploadedAtMs'>;

interface PreparedDiscard extends Pick<VersionRow, 'vertical' | 'id' | 'script'> {
  readonly before: Before;
}

/** Marked first: from then on no scope is moved to it, and a crash leaves a version that says it has no files. */
export const discardVersion = /* @__PURE__ */ delegated<typeof versionsDiscard, PreparedDiscard, Freed>(
  versionsDiscard,
  {
    begin: (context, { params, actor, ifMatch }) => {
      const { db, revision } = context;
      const vertical = requireVertical(db, actor, params.slug);
      const row = requireVersion(db, vertical.slug, { id: params.id });
      requireMatch(ifMatch, versionTag(row, vertical), context.resumes);
      requireDiscardable(db, vertical, row);
      const { status, reviewedBy, note, uploadedAtMs, id, script } = row;
      const before = { status, reviewedBy, note, uploadedAtMs };
      updateVersion(db, { ...row, ...discardedState(row), revision, updatedAtMs: context.now() });
      return {
        intent: { target: targetOf(vertical, id), before: null, after: { version: row.version } },
        prepared: { vertical: vertical.slug, id, script, before },
      };
    },
    settle: ({ db }, { params, actor }, { files, bytes }) => {
      const vertical = requireVertical(db, actor, params.slug);
      const row = requireVersion(db, vertical.slug, { id: params.id });
      const { version } = row;
      const audit: AuditEntry = {
        target: targetOf(vertical, row.id),
        before: null,
        after: { version, status: row.status, files, bytes },
      };
      const shown = versionOfRow(row, vertical);
      return { value: { version: shown, files, bytes }, etag: shown.etag, audit };
    },
    undo: ({ db, intent, revision }, { params }, { id, before }) => {
      const row = requireVersion(db, params.slug, { id });
      if (row.revision === intent) updateVersion(db, { ...row, ...before, revision });
    },
  },
);

export const planDiscard = /* @__PURE__ */ planned<typeof versionsDiscard>(
  versionsDiscard,
  ({ db }, { params, actor, ifMatch }) => {
    const vertical = requireVertical(db, actor, params.slug);
    const row = requireVersion(db, vertical.slug, { id: params.id });
    requireMatch(ifMatch, versionTag(row, vertical));
    requireDiscardable(db, vertical, row);
    return { dryRun: true, version: versionOfRow(row, vertical), files: 0, bytes: 0 };
  },
);

/** A rejected version stays so. */
function discardedState({ status, reviewedBy, note }: VersionRow): Before {
  if (status === 'rejected') return { status, reviewedBy, note, uploadedAtMs: null };
  return { status: 'pending', reviewedBy: null, note: null, uploadedAtMs: null };
}

/** The version that a rollback goes to: the newest one before, of those that could serve. */
export const ROLLBACK_TARGET = `SELECT id FROM vertical_versions WHERE vertical = ? AND id < ?
  AND status = 'admitted' AND uploaded_at IS NOT NULL ORDER BY id DESC LIMIT 1`;

/** @throws PlatformError `conflict`, reason `version_in_use`. */
function requireDiscardable(
  db: SqlDatabase,
  { serving, builtIn }: VerticalRow,
  { id, vertical }: VersionRow,
): void {
  if (id === serving || id === builtIn) throw inUse('This version serves: promote another one first.');
  if (isBound(db, id))
    throw inUse('A scope is bound to this version: let it follow prod, or bind another one, first.');
  if (serving !== null && db.get<{ id: string }>(ROLLBACK_TARGET, vertical, serving)?.id === id)
    throw inUse('This is the version that a rollback goes to: deploy another one first.');
}

function inUse(message: string): PlatformError {
  return new PlatformError('conflict', message, { reason: 'version_in_use' });
}

/** The number of scopes whose running version is asked for at once. */
const SCOPES_PAGE = 500;

/** The scopes of a vertical that have an instance, by id. */
export const SCOPES_OF = `SELECT id AS scope, tenant FROM scopes WHERE vertical = ? AND id > ? AND status <> 'reaped'
  ORDER BY id LIMIT ${SCOPES_PAGE}`;

export interface InstanceRef {
  readonly tenant: TenantId;
  readonly scope: ScopeId;
}

export function makeDiscardEffect({ directory, runtime, incident }: DeployDeps): Effect<PreparedDiscard> {
  const scopesOf = async (vertical: string): Promise<readonly InstanceRef[]> => {
    const all: InstanceRef[] = [];
    for (;;) {
      const page = await directory.instancesOf({ vertical, after: all.at(-1)?.scope ?? '' });
      all.push(...page);
      if (page.length < SCOPES_PAGE) return all;
    }
  };

  const discard = async (of: Pick<VersionRow, 'vertical' | 'script'>, dryRun: boolean): Promise<Freed> => {
    const { vertical, script } = of;
    const scopes = await scopesOf(vertical);
    return askRuntime(requireRuntime(runtime).discard({ vertical, script, scopes, dryRun }), incident);
  };

  return {
    turn: turnOf,
    check: async (_deps, call) => {
      // Access comes first: a caller that must not know the vertical learns nothing about the runtime either.
      await directory.registryVertical({ call: aboutOf(call) });
      requireRuntime(runtime);
    },
    plan: async (_deps, _call, known) => {
      const plan = known as { readonly version: VersionRecord };
      return { value: { ...plan, ...(await discard(plan.version, true)) } };
    },
    run: async (_deps, _call, prepared) => ({ facts: await discard(prepared, false) }),
  };
}
