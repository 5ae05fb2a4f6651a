/** The events of a development server: the terminal prints them, and `--json` writes each as one line. */

/** A mistake of the application, with its place in the builder's source. */
export interface Fault {
  /**
   * `build`: the source cannot be bundled. `declaration`: loading it failed, as `defineApp` does for a mistake.
   * `migration`: the data could not be brought to the new version. `request`: an error while it was serving.
   */
  readonly kind: 'build' | 'declaration' | 'migration' | 'request';
  readonly message: string;
  /** Of a mistake of the declaration: stable. */
  readonly code?: string;
  /** The file that explains the code, from the folder of the project. */
  readonly page?: string;
  /** Relative to the project; null where no place is known. */
  readonly file: string | null;
  /** From 1. */
  readonly line: number | null;
  readonly column: number | null;
  /** The lines around it, with a mark. */
  readonly excerpt: string | null;
  /** The next step; null where the message says it. */
  readonly hint: string | null;
  /** The frames of the builder's own source: `src/items/operations.ts:12:7`. */
  readonly stack: readonly string[];
}

/** A person who can sign in at the development issuer. */
export interface DevPerson {
  readonly login: string;
  readonly name: string;
  readonly roles: readonly string[];
}

export interface Ready {
  readonly type: 'ready';
  /** The name of the application; null while no version could be served. */
  readonly name: string | null;
  readonly url: string;
  /** The MCP address of the instance, for those who sign in. */
  readonly mcp: string;
  /** The MCP address for the builder's coding agent. */
  readonly devMcp: string;
  readonly issuer: string;
  readonly data: string;
  readonly people: readonly DevPerson[];
}

export type DevEvent =
  | Ready
  | { readonly type: 'note'; readonly text: string }
  /** A version is served. `ms` counts from the save. */
  | { readonly type: 'served'; readonly version: number; readonly ms: number }
  /** The people who can sign in, once there is a version that can be asked. */
  | { readonly type: 'people'; readonly people: readonly DevPerson[] }
  /** A save is broken. `serving` is the version that keeps serving; null while there is none. */
  | { readonly type: 'broken'; readonly serving: number | null; readonly faults: readonly Fault[] }
  | { readonly type: 'fault'; readonly where: string; readonly fault: Fault }
  /** A line of the application's own (`console.log`). */
  | { readonly type: 'log'; readonly level: string; readonly text: string }
  | { readonly type: 'mail'; readonly to: string; readonly subject: string; readonly text: string }
  | { readonly type: 'stopped' };

/** `src/app.ts:12:7`, or null where no place is known. */
export function placeOf({ file, line, column }: Pick<Fault, 'file' | 'line' | 'column'>): string | null {
  return file === null ? null : [file, line, column].filter((each) => each !== null).join(':');
}
