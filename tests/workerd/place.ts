/** A place where an application runs: a port on loopback that can be closed and opened again over the same data. */

export interface Place {
  readonly port: number;
  /** Ends everything in memory, and starts again over the same data on the same port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a place. `env` is the configuration of the application. */
export type OpenPlace = (env: Readonly<Record<string, string>>) => Promise<Place>;
