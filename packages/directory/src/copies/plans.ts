/**
 * The plans of copies: the changes that a restore or a rewind would take back, and the deletion of a snapshot. The commits
 * since a moment are counted in the list of bookmarks, a read without a row in the access log.
 */
import { type BookmarkRecord, bookmarksResponse, PlatformError } from '@freehold/contracts';
import type { UnitContext, UnitStub } from '@freehold/store';
import type { z } from 'zod';
import type { AdminCall } from '../access/actors.ts';
import type { BackupDeps } from '../backups/backup-store.ts';
import { countBackups } from '../backups/store.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { EffectDeps, EffectPlan } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import { planned } from '../lib/handlers.ts';
import { requireIdle } from '../long-work/operations.ts';
import { scopeSubject } from '../scopes/target.ts';
import { askScope } from '../verticals/client.ts';
import { examineCopy, presenceBy, type ScopePresence } from '../verticals/examine-copy.ts';
import { openCopy } from './copy-source.ts';
import {
  type CopyName,
  type RestoreWork,
  requireCopy,
  requireReachable,
  scopesRestore,
  scopesRewind,
  snapshotsDelete,
} from './operations.ts';
import { countSnapshots, requireSnapshot } from './snapshot-store.ts';

type RestorePlan = z.input<typeof scopesRestore.plan>;
type RewindPlan = z.input<typeof scopesRewind.plan>;

/** The size of a page. */
const PAGE = 200;
/** The most pages that are counted; the answer then says that there are more. */
const PAGES_MAX = 10;

export const planSnapshotDelete = /* @__PURE__ */ planned<typeof snapshotsDelete>(
  snapshotsDelete,
  ({ db }, { params }) => {
    const { id } = requireReachable(db, params);
    const snapshot = requireSnapshot(db, id, params.snapshot);
    return { dryRun: true, snapshot, others: countSnapshots(db, id) - 1, backups: countBackups(db, id) };
  },
);

/** The directory's part of the plan of a restore; {@link planRestore} adds the vertical's. */
export const planCopy = /* @__PURE__ */ planned<typeof scopesRestore>(
  scopesRestore,
  (context, { params, body }) => {
    const { db } = context;
    const { from } = body;
    const row = requireReachable(db, params);
    const { id } = row;
    const copy = requireCopy(db, row, from);
    // One at a time, like the restore itself.
    requireIdle(context, scopeSubject(id));
    const unseen = { commits: null, undo: false, present: 'sound', copy: null } as const;
    const common = { dryRun: true, scope: id, ...unseen } as const;
    if ('backup' in copy.from) {
      const { id: backup, at, bytes, format, sha256, bookmark, origin, scope } = copy.from.backup;
      const kind = from.export === undefined ? 'backup' : 'export';
      // A copy from outside was taken at an unknown time, and another scope's shows no moment of this one.
      const since = origin === 'upload' || scope !== id ? null : at;
      return { ...common, from: { kind, id: backup, at, bytes, format, sha256, bookmark }, since };
    }
    const { id: snapshot, at, bytes, digest: sha256, bookmark } = requireSnapshot(db, id, copy.from.snapshot);
    const about = { kind: 'snapshot', id: snapshot, at, bytes, format: null, sha256, bookmark } as const;
    return { ...common, from: about, since: at };
  },
);

/** Method of the directory unit for the plan of a restore. */
export function copySourceMethods({ db }: UnitContext) {
  return {
    findCopy: ({
      scope,
      from,
    }: {
      readonly scope: ScopeRecord;
      readonly from: CopyName;
    }): RestoreWork['from'] => requireCopy(db, scope, from).from,
  };
}

/** The means of a restore. */
export interface RestoreDeps extends BackupDeps {
  readonly directory: UnitStub<
    { planChange(input: { readonly call: AdminCall }): unknown } & ReturnType<typeof copySourceMethods>
  >;
}

export async function planRestore(deps: RestoreDeps, call: AdminCall): Promise<RestorePlan> {
  const plan = (await deps.directory.planChange({ call })) as RestorePlan;
  const { scope } = await deps.target(call);
  const { since } = plan;
  let present: ScopePresence = 'sound';
  const written = await writtenSince(deps, scope, ({ at }) => since !== null && at > since).catch(
    (error: unknown) => {
      present = presenceBy(error);
      return present === 'sound' ? withoutHistory(error) : null;
    },
  );
  const { from } = call.body as CallOf<typeof scopesRestore>['body'];
  const source = await deps.directory.findCopy({ scope, from });
  const copy = await examineCopy(deps, scope, await openCopy(deps, scope, source), present);
  const seen = { ...plan, present, copy };
  if (!written) return seen;
  const { count, more } = written;
  return { ...seen, commits: since === null ? null : { count, more }, undo: written.current !== null };
}

/** The directory's checks of a rewind; {@link planRewind} asks the vertical for the target. */
export const planRewindChecks = /* @__PURE__ */ planned<typeof scopesRewind>(
  scopesRewind,
  ({ db }, { params }) => {
    const { id } = requireReachable(db, params);
    const to = { bookmark: '', at: null };
    const nothing = { current: null, seconds: null, commits: { count: 0, more: false }, earliest: null };
    return { dryRun: true, scope: id, to, ...nothing, undo: true };
  },
);

export async function planRewind(deps: EffectDeps, call: AdminCall, known: unknown): Promise<EffectPlan> {
  const { body } = call as unknown as CallOf<typeof scopesRewind>;
  const { scope } = await deps.target(call);
  const target =
    body.at === undefined
      ? { bookmark: String(body.bookmark), at: null }
      : await lastAt(deps, scope, body.at);
  const { count, more, current, earliest, reached } = await writtenSince(
    deps,
    scope,
    ({ bookmark }) => bookmark > target.bookmark,
  );
  const isOutside =
    (current !== null && target.bookmark > current.bookmark) ||
    (earliest !== null && target.bookmark < earliest.bookmark);
  if (isOutside) throw unknownBookmark();
  const at = target.at ?? (reached?.bookmark === target.bookmark ? reached.at : null);
  const plan: RewindPlan = {
    ...(known as RewindPlan),
    to: { bookmark: target.bookmark, at },
    current,
    seconds: at === null || current === null ? null : secondsBetween(at, current.at),
    commits: { count, more },
    earliest: earliest?.at ?? null,
  };
  return { value: plan };
}

/** The commits since a moment, and the present one. */
interface Written {
  readonly count: number;
  readonly more: boolean;
  readonly current: BookmarkRecord | null;
  readonly earliest: BookmarkRecord | null;
  /** The newest commit before. */
  readonly reached: BookmarkRecord | null;
}

async function writtenSince(
  deps: EffectDeps,
  scope: ScopeRecord,
  isSince: (bookmark: BookmarkRecord) => boolean,
): Promise<Written> {
  let count = 0;
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const page = await bookmarks(deps, scope, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    const { current, earliest, nextCursor } = page;
    const before = page.items.findIndex((item) => !isSince(item));
    count += before < 0 ? page.items.length : before;
    const reached = page.items[before] ?? null;
    const isLooking = reached === null && nextCursor !== null;
    if (!isLooking || pages === PAGES_MAX) return { count, more: isLooking, current, earliest, reached };
    cursor = nextCursor;
  }
}

/** The last commit at or before a moment. @throws PlatformError `not_found`, as the rewind does. */
async function lastAt(deps: EffectDeps, scope: ScopeRecord, at: string): Promise<BookmarkRecord> {
  const { items } = await bookmarks(deps, scope, { at, limit: 1 });
  if (!items[0]) throw unknownBookmark();
  return items[0];
}

function bookmarks(
  deps: EffectDeps,
  scope: ScopeRecord,
  query: { readonly limit: number; readonly at?: string; readonly cursor?: string },
) {
  return askScope(deps, scope, {
    path: 'bookmarks',
    query,
    answer: bookmarksResponse,
    local: (host, ref) => host.migrationBookmarksLocal({ ...ref, ...query } as never),
  });
}

/** An engine without a history restores too, but without an undo. */
function withoutHistory(error: unknown): null {
  if (error instanceof PlatformError && error.code === 'unsupported') return null;
  throw error;
}

function secondsBetween(from: string, to: string): number {
  return Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000));
}

function unknownBookmark(): PlatformError {
  return new PlatformError('not_found', 'There is no such bookmark in the window of this scope.', {
    reason: 'unknown_bookmark',
  });
}
