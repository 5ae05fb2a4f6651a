/**
 * What an engine can do with a whole unit, beside calling it: copy it, put it back, take it back in time, look into
 * it. Everything here is asynchronous and stands in line with the unit's calls: none sees half of it.
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
}

export interface UnitSnapshot {
  readonly id: string;
  readonly name: string | null;
  readonly bytes: number;
  /** SHA-256 of its bytes, hexadecimal. */
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
 * The tools of one unit. Members reject with `unsupported`, reason `engine_cannot`, where an engine has no such thing
 * (see its capabilities); with `not_found` for a unit that was never created.
 */
export interface UnitTools {
  /**
   * A consistent copy. NDJSON is a header line `{ freehold: 1, kind, key, schema: [sql…], tables: [{ name, columns, rows, sha256 }] }`
   * with counts and digests, one line `{ t: table index, r: [values] }` a row (bytes as `{ $bytes }` base64, integers
   * beyond the safe ones as `{ $integer }`), and a trailer `{ end: true, sha256 }` over everything before it.
   */
  export(format: CopyFormat): Promise<UnitCopy>;
  /**
   * Replaces the whole contents, or changes nothing: the copy is staged, checked (digests, integrity, schema of this
   * kind, migrations, the definition's `admit`) and put in place at once.
   * @throws PlatformError `validation_failed`, reason `copy_damaged` or `copy_foreign`.
   */
  restore(format: CopyFormat, body: ReadableStream<Uint8Array>, admit?: Admit): Promise<UnitRestored>;
  /** A named copy beside the unit. */
  snapshot(options: { readonly id: string; readonly name?: string }): Promise<UnitSnapshot>;
  /** Newest first. */
  snapshots(): Promise<readonly UnitSnapshot[]>;
  /** @throws PlatformError `not_found`, reason `unknown_snapshot`. */
  openSnapshot(id: string): Promise<UnitCopy>;
  removeSnapshot(id: string): Promise<void>;
  bookmarks(query: {
    readonly atMs?: number;
    readonly limit: number;
    readonly cursor?: string;
  }): Promise<BookmarkPage>;
  /**
   * Takes the unit back to a commit: to a bookmark, or to the last commit at or before a moment.
   * @throws PlatformError `not_found`, reason `unknown_bookmark`, outside the window.
   */
  rewind(
    target: { readonly bookmark: string } | { readonly atMs: number },
    admit?: Admit,
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
