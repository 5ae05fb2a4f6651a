/**
 * The tools of an engine for a whole unit: copy it, restore it, rewind it, look into it. All of them are asynchronous and
 * wait in the queue of the unit's calls: none sees half of a call.
 */
import type { SqlDatabase, SqlValue } from './sql-database.ts';
import type { UnitDefinition, UnitMethods } from './unit.ts';

/** `sqlite`: the database file. `ndjson`: text that any engine reads, see {@link UnitTools.export}. */
export type CopyFormat = 'sqlite' | 'ndjson';

/** A commit that can be gone back to. Bookmarks of one unit sort, as text, in the order of their commits. */
export interface Bookmark {
  readonly bookmark: string;
  /** When it was committed, in milliseconds since the epoch. */
  readonly atMs: number;
}

export interface UnitCopy {
  readonly format: CopyFormat;
  /** The commit that it shows; null where the engine has no bookmarks. */
  readonly bookmark: string | null;
  /** Bytes of one moment, whatever is written meanwhile. Cancelling it frees what it holds. */
  readonly body: ReadableStream<Uint8Array>;
}

export interface UnitRestored {
  readonly tables: number;
  readonly rows: number;
  /** Leads back to before; null where the engine has no bookmarks. */
  readonly undo: string | null;
  /** The file under which a database was put aside that could not be read; absent when there was none. */
  readonly setAside?: string;
}

export interface RestoreOptions {
  /**
   * True also restores a unit whose own database is damaged or missing: what is there is put aside, under a name that
   * says when. Default false: a missing unit is `unknown_unit`, and a damaged one `unit_unreadable`.
   */
  readonly evenIfLost?: boolean;
}

/** The result of checking a copy without restoring it. */
export interface ExaminedCopy {
  readonly tables: number;
  readonly rows: number;
}

export interface UnitSnapshot {
  readonly id: string;
  readonly name: string | null;
  /** The number of bytes that {@link UnitTools.openSnapshot} hands out, and their SHA-256 in hexadecimal. */
  readonly bytes: number;
  readonly digest: string;
  readonly bookmark: string | null;
  readonly atMs: number;
}

export interface BookmarkPage {
  /** Newest first. */
  readonly items: readonly Bookmark[];
  readonly nextCursor: string | null;
  readonly current: Bookmark | null;
  /** Where the window of history begins. */
  readonly earliest: Bookmark | null;
}

/** One statement that only reads, with the limits that stop it. */
export interface InspectRequest {
  readonly sql: string;
  readonly params: readonly SqlValue[];
  readonly rowsMax: number;
  readonly bytesMax: number;
  readonly timeMs: number;
}

export interface InspectResult {
  readonly columns: readonly string[];
  /** Integers beyond the safe ones come as bigint. */
  readonly rows: readonly (readonly (SqlValue | bigint)[])[];
  readonly truncated: 'rows' | 'bytes' | null;
  readonly durationMs: number;
}

/**
 * Judges what is about to take the unit's place, beside the definition's own `admit` and after it: called on the staged
 * database of a restore and of a rewind. What it writes becomes part of it; what it throws refuses it.
 */
export type Admit = (staged: SqlDatabase) => void;

/**
 * A judge that must ask elsewhere before it can judge: `look` reads the staged database and changes nothing, `prepare`
 * asks, and `admit` judges.
 */
export interface Admission<Seen = unknown> {
  look(staged: SqlDatabase): Seen;
  prepare(seen: Seen): Promise<void>;
  readonly admit: Admit;
}

/** A judge of either kind, as one that may ask. */
export function admissionOf(admit: Admit | Admission | undefined): Admission {
  if (typeof admit === 'object') return admit;
  return { look: () => undefined, prepare: async () => undefined, admit: admit ?? (() => undefined) };
}

/**
 * Carries out the moment in which another state takes the unit's place: it does what must be done directly before, and
 * calls `swap` once, whose outcome is its own.
 */
export type Replacing = <T>(swap: Swap<T>) => Promise<T>;

/**
 * Puts the other state in place. `require` reads the present state after its last commit, in the very step that replaces
 * it; what it throws leaves the present state. An engine at a distance runs it more than once, on rows that it compares in that step.
 */
export type Swap<T> = (require?: (present: Pick<SqlDatabase, 'all'>) => void) => Promise<T>;

/**
 * The tools of one unit. Each stands in line: it sees what was called before it. Members reject with
 * - `unsupported`: `engine_cannot` where an engine has no such thing (see its capabilities); `unit_has_no_copies` for a
 *   unit whose definition says `copies: 'none'`, which can only be removed; `history_off` where an engine could keep
 *   history and was told not to;
 * - `not_found`, `unknown_unit`, for a unit that was never created;
 * - `unavailable`: `history_damaged` or `snapshot_damaged`, naming the file, which is left as it is; `storage_full` for a
 *   full disk and `storage_failed` for a failing one; `busy`.
 * Whatever fails has changed nothing.
 */
export interface UnitTools {
  /**
   * A consistent copy. `sqlite` is a plain database file. `ndjson` is lines of JSON, each with a line end:
   * - a header `{ freehold: 1, kind, key, schema, tables: [{ name, columns, rows, sha256 }] }`. `schema` holds the
   *   statements of tables, indexes, views and triggers in the order in which they were made, without SQLite's own.
   *   `tables` are sorted by name, `sqlite_sequence` among them when it has rows; `columns` are those that can be
   *   inserted, with `rowid` before them where a table has one that is not a column; `sha256` is over the lines of its
   *   rows;
   * - a line `{ t, r }` a row: the table's index and its values, in the order of the rowid or the primary key. A number
   *   is an INTEGER when it is a safe integer and a REAL otherwise; in a column of REAL affinity a REAL is always a
   *   plain number. What JSON has no form for is `{ $integer }` or `{ $real }` with the number as text (`Infinity`,
   *   `-0`, a whole REAL elsewhere), and `{ $bytes }` in base64;
   * - a trailer `{ end: true, sha256 }` over everything before it.
   */
  export(format: CopyFormat): Promise<UnitCopy>;
  /**
   * Replaces the whole contents, or changes nothing: the copy is staged, checked (digests, integrity, foreign keys, the
   * schema that this kind's migrations make, and nothing of the platform's own beyond it), migrated, admitted by the
   * definition and by `admit`, and put in place at once. Calls go on meanwhile, on the old state.
   * @throws PlatformError `validation_failed`, reason `copy_damaged` or `copy_foreign`, and what `admit` throws.
   */
  restore(
    format: CopyFormat,
    body: ReadableStream<Uint8Array>,
    admit?: Admit | Admission,
    replacing?: Replacing,
    options?: RestoreOptions,
  ): Promise<UnitRestored>;
  /**
   * Checks a copy as a restore does, and changes nothing. `look` reads the staged database after its migrations.
   * @throws as {@link restore} does, and what `look` throws.
   */
  examine(
    format: CopyFormat,
    body: ReadableStream<Uint8Array>,
    look?: (staged: SqlDatabase) => void,
  ): Promise<ExaminedCopy>;
  /**
   * A named copy beside the unit. `id` is made of letters, digits, `_` and `-`.
   * @throws PlatformError `conflict`, reason `snapshot_exists`.
   */
  snapshot(options: { readonly id: string; readonly name?: string }): Promise<UnitSnapshot>;
  /** Newest first. */
  snapshots(): Promise<readonly UnitSnapshot[]>;
  /**
   * Its bytes were compared with their digest before the first of them is handed out.
   * @throws PlatformError `not_found`, reason `unknown_snapshot`.
   */
  openSnapshot(id: string): Promise<UnitCopy>;
  /** @throws PlatformError `not_found`, reason `unknown_snapshot`. */
  removeSnapshot(id: string): Promise<void>;
  /** The commits that can be gone back to; `atMs` begins with the last one at or before that moment. */
  bookmarks(query: {
    readonly atMs?: number;
    readonly limit: number;
    readonly cursor?: string;
  }): Promise<BookmarkPage>;
  /**
   * Takes the unit back to a commit: to a bookmark, or to the last commit at or before a moment. History goes on from
   * there: the state that was left stays in it, under `undo`.
   * @throws PlatformError `not_found`, reason `unknown_bookmark`, outside the window.
   */
  rewind(
    target: { readonly bookmark: string } | { readonly atMs: number },
    admit?: Admit | Admission,
    replacing?: Replacing,
  ): Promise<Bookmark & { readonly undo: string }>;
  /** Removes the unit with its snapshots and its history. Removing it twice is removing it once. */
  remove(): Promise<void>;
  /**
   * Runs one statement that cannot write and cannot run away.
   * @throws PlatformError `validation_failed`, reason `statement_refused`, `statement_invalid` or `time_limit`.
   */
  inspect(request: InspectRequest): Promise<InspectResult>;
}

/** An engine with tools. */
export interface EngineTools {
  tools<M extends UnitMethods>(definition: UnitDefinition<M>, key: string): UnitTools;
}
