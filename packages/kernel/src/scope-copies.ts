/**
 * The management contract for a scope as a whole, in the co-located host: copies, rewinds, and queries. The engine does
 * the work; this module ensures the tenant, and that no erased person comes back with an older state.
 */
import {
  type BookmarkRecord,
  type Bookmarks,
  type BookmarksQuery,
  PlatformError,
  QUERY_BYTES_MAX,
  QUERY_ROWS_MAX,
  QUERY_TIME_MS,
  type QueryRequest,
  type QueryResult,
  type Restored,
  type RewindRequest,
  type Rewound,
  type ScopeCopies,
  type ScopeId,
  type ScopeRef,
  type ScopeSnapshots,
  type ScopeTables,
  type SnapshotRecord,
  toTimestamp,
} from '@freehold/contracts';
import type {
  Admission,
  Bookmark,
  Engine,
  EngineTools,
  Replacing,
  SqlDatabase,
  UnitSnapshot,
  UnitTools,
} from '@freehold/store';
import { cellOf, isCut } from './data-window/columns.ts';
import type { Vault } from './keys/vault.ts';
import type { ScopeUnit } from './scope-unit.ts';
import { markForPendingErasures, redactScope } from './sealing/erasures.ts';
import type { KeyKeeper } from './sealing/keyed-scope.ts';
import {
  fetchMovingKeys,
  lookAtStaged,
  type MovingKeys,
  moveIn,
  type StagedScope,
} from './sealing/move-in.ts';
import type { Vertical } from './vertical/vertical.ts';

export interface ScopeCopiesParts {
  readonly engine: Pick<Engine, 'capabilities'> & Partial<EngineTools>;
  readonly unit: ScopeUnit;
  readonly vertical: Vertical;
  readonly vault: Vault | undefined;
  readonly keeper: KeyKeeper | undefined;
  /** Rejects unless the scope is the tenant's. Pending erasures are applied first, as before any call. */
  readonly requireOwned: (ref: ScopeRef) => Promise<unknown>;
  readonly clearFiles: (scopeId: ScopeId) => Promise<void>;
  readonly newSnapshotId: () => string;
  /** Returns a text that was never returned before. */
  readonly newMark: () => string;
  readonly random: (bytes: number) => Uint8Array;
  readonly now: () => number;
}

export function makeScopeCopies(
  parts: ScopeCopiesParts,
): ScopeCopies & ScopeSnapshots & Pick<ScopeTables, 'introspectScopeQuery'> {
  const { engine, unit, vertical, vault, keeper, requireOwned, clearFiles, newSnapshotId, newMark, now } =
    parts;

  const toolsOf = async (ref: ScopeRef): Promise<UnitTools> => {
    await requireOwned(ref);
    if (!engine.tools)
      throw new PlatformError('unsupported', 'This engine cannot copy a scope.', { reason: 'engine_cannot' });
    return engine.tools(unit, ref.scopeId);
  };

  /** Returns the tools for a copy, which must hold no key of which the vault was not told. */
  const copying = async (ref: ScopeRef): Promise<UnitTools> => {
    const tools = await toolsOf(ref);
    await keeper?.bindAll(ref.scopeId);
    return tools;
  };

  /** Before another state replaces this one, the vault is told of all used keys, and no more are taken. */
  const replacing = ({ scopeId }: ScopeRef): Replacing | undefined =>
    keeper && ((swap) => keeper.frozen(scopeId, swap));

  /** Admits another state as the scope: it must be this tenant's, and is redacted of erased persons. */
  const admission = async (ref: ScopeRef): Promise<Admission<StagedScope>> => {
    const receipts = (await vault?.shredded(ref)) ?? [];
    const mark = newMark();
    let keys: MovingKeys | null = null;
    let from: string | null = null;
    return {
      look: (staged) => {
        requireTenant(staged, ref.tenantId);
        return lookAtStaged(staged, vertical, ref.scopeId);
      },
      prepare: async (found) => {
        if (!vault || found.scopeId === null || found.scopeId === ref.scopeId) return;
        from = found.scopeId;
        keys = await fetchMovingKeys(vault, ref, found);
      },
      admit: (staged) => {
        requireTenant(staged, ref.tenantId);
        if (keys && from !== null)
          moveIn(staged, { vertical, from, to: ref.scopeId, keys, random: parts.random, nowMs: now() });
        staged.run('UPDATE _spine_scope SET scope_id = ?', ref.scopeId);
        for (const receipt of receipts)
          redactScope({ db: staged, sql: staged, vertical, receipt, nowMs: now() });
        // More persons may be erased before it is in place; without a vault none can be.
        if (vault) markForPendingErasures(staged, mark);
      },
    };
  };

  return {
    exportScopeLocal: async ({ format, ...ref }) => {
      const own = engine.capabilities.name === 'node' ? 'sqlite' : 'ndjson';
      const copy = await (await copying(ref)).export(format ?? own);
      return { format: copy.format, bookmark: copy.bookmark, body: copy.body };
    },

    restoreScopeLocal: async ({ format, ...ref }, body): Promise<Restored> => {
      try {
        const tools = await toolsOf(ref);
        const { tables, rows, undo } = await tools.restore(
          format,
          body,
          await admission(ref),
          replacing(ref),
        );
        await requireOwned(ref);
        return { format, tables, rows, undo };
      } catch (error) {
        await body.cancel().catch(() => undefined);
        throw error;
      }
    },

    snapshotScopeLocal: async ({ name, ...ref }): Promise<SnapshotRecord> => {
      const id = newSnapshotId();
      return snapshotOf(await (await copying(ref)).snapshot({ id, ...(name === undefined ? {} : { name }) }));
    },
    listSnapshotsLocal: async (ref) => (await (await toolsOf(ref)).snapshots()).map(snapshotOf),
    openSnapshotLocal: async ({ snapshot, ...ref }) => {
      const { format, bookmark, body } = await (await toolsOf(ref)).openSnapshot(snapshot);
      return { format, bookmark, body };
    },
    deleteSnapshotLocal: async ({ snapshot, ...ref }) => (await toolsOf(ref)).removeSnapshot(snapshot),

    deleteScopeLocal: async (ref) => {
      const tools = await toolsOf(ref);
      // Files go first: while the scope exists, an interrupted deletion is repeated.
      await clearFiles(ref.scopeId);
      const remove = (): Promise<void> => tools.remove();
      await (replacing(ref)?.(remove) ?? remove());
      // Files that were added meanwhile.
      await clearFiles(ref.scopeId);
    },

    migrationBookmarksLocal: async ({
      tenantId,
      scopeId,
      at,
      limit,
      cursor,
    }: BookmarksQuery): Promise<Bookmarks> => {
      const page = await (await toolsOf({ tenantId, scopeId })).bookmarks({
        limit,
        ...(at === undefined ? {} : { atMs: Date.parse(at) }),
        ...(cursor === undefined ? {} : { cursor }),
      });
      return {
        items: page.items.map(bookmarkOf),
        nextCursor: page.nextCursor,
        current: page.current && bookmarkOf(page.current),
        earliest: page.earliest && bookmarkOf(page.earliest),
      };
    },

    rewindScopeLocal: async ({ bookmark, at, ...ref }: RewindRequest): Promise<Rewound> => {
      const tools = await toolsOf(ref);
      const target = bookmark === undefined ? { atMs: Date.parse(at ?? '') } : { bookmark };
      const reached = await tools.rewind(target, await admission(ref), replacing(ref));
      await requireOwned(ref);
      return { ...bookmarkOf(reached), undo: reached.undo };
    },

    introspectScopeQuery: async ({ sql, params, ...ref }: QueryRequest): Promise<QueryResult> => {
      const limits = { rowsMax: QUERY_ROWS_MAX, bytesMax: QUERY_BYTES_MAX, timeMs: QUERY_TIME_MS };
      const result = await (await toolsOf(ref)).inspect({ sql, params, ...limits });
      const rows = result.rows.map((row) => row.map(cellOf));
      const isShortened = rows.some((row) => row.some(isCut));
      return {
        columns: [...result.columns],
        rows,
        truncated: result.truncated ?? (isShortened ? 'bytes' : null),
        limits: { rows: QUERY_ROWS_MAX, bytes: QUERY_BYTES_MAX, timeMs: QUERY_TIME_MS },
        // Microseconds; further digits mean nothing.
        durationMs: Math.round(result.durationMs * 1_000) / 1_000,
      };
    },
  };
}

/** @throws PlatformError `validation_failed`, reason `copy_foreign`. */
function requireTenant(staged: SqlDatabase, tenantId: string): void {
  const whose = staged.get<{ tenantId: string }>('SELECT tenant_id AS tenantId FROM _spine_scope');
  if (whose?.tenantId !== tenantId)
    throw new PlatformError('validation_failed', 'This is a copy of another tenant’s scope.', {
      reason: 'copy_foreign',
    });
}

function bookmarkOf({ bookmark, atMs }: Bookmark): BookmarkRecord {
  return { bookmark, at: toTimestamp(atMs) };
}

function snapshotOf({ atMs, ...snapshot }: UnitSnapshot): SnapshotRecord {
  return { ...snapshot, at: toTimestamp(atMs) };
}
