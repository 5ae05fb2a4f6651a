/**
 * The port to one SQLite database: the few synchronous calls that a unit makes, the same on `node:sqlite` and in
 * a Durable Object. Statements are prepared once and kept by the engine; values are bound, never spliced.
 */

/** The values that can be bound to a `?` and that a column can hold. Integers are safe integers. */
export type SqlValue = null | number | string | Uint8Array;

export type SqlRow = Readonly<Record<string, SqlValue>>;

export interface SqlDatabase {
  /**
   * Runs one statement for its effect. Parameters are `?` or `?NNN`, and exactly as many values are given:
   * a text that is not one statement is a `StatementRefused`, a wrong value or number of them a TypeError.
   */
  run(sql: string, ...params: readonly SqlValue[]): void;
  /** The first row of one statement, or undefined. */
  get<Row = SqlRow>(sql: string, ...params: readonly SqlValue[]): Row | undefined;
  /** Every row of one statement. */
  all<Row = SqlRow>(sql: string, ...params: readonly SqlValue[]): Row[];
  /** Runs a script of several statements without parameters: for migrations. */
  exec(script: string): void;
  /**
   * Runs `work` so that all it writes stays or, when it throws, none of it does. Nests. The error goes on to
   * the caller.
   */
  savepoint<T>(work: () => T): T;
}

/**
 * The refusals of the guarded view of a database (design: architecture, "Spine tables"). It refuses with a
 * `StatementRefused`; the list of what is refused besides is in this package's README.
 */
export interface GuardOptions {
  /** Tables with this prefix, in whatever case, may be read and never written, altered or dropped. */
  readonly protectedPrefix: string;
  /** True refuses every write. */
  readonly readOnly: boolean;
}
