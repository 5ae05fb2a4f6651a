/**
 * The management contract for a scope as a whole, in the co-located host: copies, rewinds, and queries. The engine does
 * the work; this module ensures the tenant, and that no erased person comes back with an older state.
 */
import {
  type BookmarkRecord,
  type Bookmarks,
  type BookmarksQuery,
  cursorOf,
  type ExaminedScopeCopy,
  nameCursor,
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
  type ScopeExamination,
  type ScopeId,
  type ScopeRef,
  type ScopeSnapshots,
  type ScopeTables,
  type SnapshotRecord,
  toTimestamp,
} from '@freehold/contracts';
import type {
  Bookmark,
  Engine,
  EngineTools,
  Replacing,
  Swap,
  UnitSnapshot,
  UnitTools,
} from '@freehold/store';
import {
  type CopyAdmission,
  type CopyAdmissionParts,
  examineFiles,
  filesFrom,
  lookAtCopy,
  makeCopyAdmission,
  type Presence,
  type SeenCopy,
  sourceOf,
  unknownScope,
} from './admit-copy.ts';
import type { PresentRights } from './contract/scope-methods.ts';
import { cellOf, isCut } from './data-window/columns.ts';
import { areSameRights } from './permissions/present-rights.ts';
import type { ScopeUnit } from './scope-unit.ts';
import { isLost, type KeyKeeper } from './sealing/keyed-scope.ts';

export interface ScopeCopiesParts extends CopyAdmissionParts {
  readonly engine: Pick<Engine, 'capabilities'> & Partial<EngineTools>;
  readonly unit: ScopeUnit;
  /** Scopes whose rights must not change: the host refuses it. */
  readonly held: Set<string>;
  readonly keeper: KeyKeeper | undefined;
  /** Rejects unless the scope is the tenant's. Pending erasures are applied first, as before any call. */
  readonly requireOwned: (ref: ScopeRef) => Promise<unknown>;
  readonly clearFiles: (scopeId: ScopeId) => Promise<void>;
  readonly newSnapshotId: () => string;
  /** Whether there is such a scope, of this tenant or of another. */
  readonly isThere: (scopeId: ScopeId) => Promise<boolean>;
}

/** The name of the list of bookmarks in its cursors. */
const BOOKMARKS = 'bookmarks';

export function makeScopeCopies(
  parts: ScopeCopiesParts,
): ScopeCopies & ScopeExamination & ScopeSnapshots & Pick<ScopeTables, 'introspectScopeQuery'> {
  const { engine, unit, scope, vertical, people, keeper, requireOwned, clearFiles, newSnapshotId } = parts;

  const toolsOf = async (ref: ScopeRef): Promise<UnitTools> => {
    await requireOwned(ref);
    if (!engine.tools) throw engineCannot();
    return engine.tools(unit, ref.scopeId);
  };

  /** Returns the tools for a copy, which must hold no key of which the vault was not told, and carries the members. */
  const copying = async (ref: ScopeRef): Promise<UnitTools> => {
    const tools = await toolsOf(ref);
    await keeper?.bindAll(ref.scopeId);
    const members = await people?.members(ref).catch((error: unknown) => {
      // A damaged identity directory must not keep its scopes from being copied: the members noted last go along.
      if (isLost(error)) return undefined;
      throw error;
    });
    if (members) await scope(ref.scopeId).noteMembers({ members });
    return tools;
  };

  /** Before another state replaces this one, the vault is told of all used keys, and no more are taken. */
  const frozen = <T>(scopeId: ScopeId, swap: () => Promise<T>): Promise<T> =>
    keeper ? keeper.frozen(scopeId, swap, true) : swap();

  /** Replacements that run, by scope. */
  const running = new Map<string, Promise<unknown>>();

  /** Swaps while the rights are held, which must be the carried ones. */
  const swapHeld = async <T>(scopeId: ScopeId, known: PresentRights, swap: Swap<T>): Promise<T> => {
    const stub = scope(scopeId);
    parts.held.add(scopeId);
    try {
      if (!(await stub.holdRights({ known }))) throw rightsChanged();
      // The unit forgets that it holds when a failed commit closes it, so the swap compares once more.
      return await swap((present) => {
        if (!areSameRights(present, known)) throw rightsChanged();
      });
    } catch (error) {
      await stub.holdRights({ known: null }).catch(() => undefined);
      throw error;
    } finally {
      parts.held.delete(scopeId);
    }
  };

  /**
   * The carried rights must be those of the last moment. One replacement at a time: the state that another one brings
   * holds nothing, so that a role taken in it would come back.
   */
  const replacing =
    ({ scopeId }: ScopeRef, admission: CopyAdmission): Replacing =>
    async (swap) => {
      const turn = (running.get(scopeId) ?? Promise.resolve()).then(() =>
        frozen(scopeId, () => {
          const known = admission.carried();
          return known ? swapHeld(scopeId, known, swap) : swap();
        }),
      );
      const settled = turn.then(
        () => undefined,
        () => undefined,
      );
      running.set(scopeId, settled);
      void settled.then(() => {
        if (running.get(scopeId) === settled) running.delete(scopeId);
      });
      return turn;
    };

  /** After another scope's data has come in: its members are the members. Returns their number. */
  const membersAfter = async (ref: ScopeRef, seen: SeenCopy): Promise<number | undefined> => {
    const from = sourceOf(seen, ref);
    if (from === null || !people) return undefined;
    return people.moveIn(ref, { from, copied: seen.members });
  };

  /** The present state of a scope. A damaged one is the tenant's by the platform's word alone. */
  const presenceOf = async (ref: ScopeRef, mayBeMissing: boolean): Promise<Presence> => {
    try {
      await requireOwned(ref);
      return 'sound';
    } catch (error) {
      if (!isLost(error)) throw error;
      if ((error as PlatformError).code !== 'not_found') return 'lost';
      if (!mayBeMissing || (await parts.isThere(ref.scopeId))) throw error;
      return 'missing';
    }
  };

  /** Returns the tools of a scope that may be lost. */
  const lenient = async (
    ref: ScopeRef,
    mayBeMissing: boolean,
  ): Promise<{ tools: UnitTools; presence: Presence }> => {
    const presence = await presenceOf(ref, mayBeMissing);
    if (!engine.tools) throw engineCannot();
    return { tools: engine.tools(unit, ref.scopeId), presence };
  };

  return {
    exportScopeLocal: async ({ format, ...ref }) => {
      const own = engine.capabilities.name === 'node' ? 'sqlite' : 'ndjson';
      const copy = await (await copying(ref)).export(format ?? own);
      return { format: copy.format, bookmark: copy.bookmark, body: copy.body };
    },

    restoreScopeLocal: async ({ format, ifMissing, ...ref }, body): Promise<Restored> => {
      try {
        const { tools, presence } = await lenient(ref, ifMissing !== undefined);
        const admission = await makeCopyAdmission(parts, ref, presence);
        const restored = await tools.restore(format, body, admission, replacing(ref, admission), {
          evenIfLost: true,
        });
        const members = await membersAfter(ref, admission.seen());
        await requireOwned(ref);
        const attachments = admission.attachments();
        return {
          format,
          ...restored,
          roles: admission.roles(),
          ...(members === undefined ? {} : { members }),
          ...(attachments === undefined ? {} : { attachments }),
        };
      } catch (error) {
        await body.cancel().catch(() => undefined);
        throw error;
      }
    },

    examineCopyLocal: async ({ format, ifMissing, ...ref }, body): Promise<ExaminedScopeCopy> => {
      try {
        const { tools, presence } = await lenient(ref, ifMissing !== undefined);
        let seen: SeenCopy | undefined;
        const examined = await tools.examine(format, body, (staged) => {
          seen = lookAtCopy(staged, { vertical, ref, presence });
        });
        const { scopeId, members, files } = seen as SeenCopy;
        const from = await filesFrom(seen as SeenCopy, ref, requireOwned);
        return {
          format,
          ...examined,
          scope: scopeId as ScopeId | null,
          members: members?.length ?? null,
          attachments: parts.blobs ? await examineFiles(files, { blobs: parts.blobs, from, ref }) : null,
        };
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
      const { tools } = await lenient(ref, true);
      const { format, bookmark, body } = await tools.openSnapshot(snapshot).catch((error: unknown) => {
        const isNone = error instanceof PlatformError && error.reason === 'unknown_unit';
        throw isNone ? unknownScope() : error;
      });
      return { format, bookmark, body };
    },
    deleteSnapshotLocal: async ({ snapshot, ...ref }) => (await toolsOf(ref)).removeSnapshot(snapshot),

    deleteScopeLocal: async ({ ifMissing, ...ref }) => {
      // A damaged scope is deleted too, and what a lost one left: its tenant may have to be forgotten.
      const { tools, presence } = await lenient(ref, ifMissing !== undefined);
      // Files go first: while the scope exists, an interrupted deletion is repeated.
      await clearFiles(ref.scopeId);
      const remove = (): Promise<void> => tools.remove();
      // A scope without a database has no keys to freeze.
      await (presence === 'missing' ? remove() : frozen(ref.scopeId, remove));
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
        ...(cursor === undefined ? {} : { cursor: cursorOf(BOOKMARKS, cursor) }),
      });
      return {
        items: page.items.map(bookmarkOf),
        nextCursor: nameCursor(BOOKMARKS, page.nextCursor),
        current: page.current && bookmarkOf(page.current),
        earliest: page.earliest && bookmarkOf(page.earliest),
      };
    },

    rewindScopeLocal: async ({ bookmark, at, ...ref }: RewindRequest): Promise<Rewound> => {
      const tools = await toolsOf(ref);
      const target = bookmark === undefined ? { atMs: Date.parse(at ?? '') } : { bookmark };
      const admission = await makeCopyAdmission(parts, ref, 'sound');
      const reached = await tools.rewind(target, admission, replacing(ref, admission));
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

function bookmarkOf({ bookmark, atMs }: Bookmark): BookmarkRecord {
  return { bookmark, at: toTimestamp(atMs) };
}

function rightsChanged(): PlatformError {
  return new PlatformError(
    'conflict',
    'Roles were changed while the other state was prepared. Nothing was replaced. Repeat the call.',
    { reason: 'rights_changed' },
  );
}

function engineCannot(): PlatformError {
  return new PlatformError('unsupported', 'This engine cannot copy a scope.', { reason: 'engine_cannot' });
}

function snapshotOf({ atMs, ...snapshot }: UnitSnapshot): SnapshotRecord {
  return { ...snapshot, at: toTimestamp(atMs) };
}
