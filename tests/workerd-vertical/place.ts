/** Where fieldwork runs, for a story that is told on every runtime. */

export interface PlaceOptions {
  readonly platformSecret: string;
  readonly sealKey: string;
  /** The operator's own issuer. It is on loopback. */
  readonly issuerUrl: string;
  /** The built pages: path → text. */
  readonly pages: Readonly<Record<string, string>>;
}

export interface Place {
  /** Where people reach it: `http://<a house's host name>:<port>`. The same after a power cut. */
  readonly port: number;
  /** Where the platform reaches its management contract. */
  readonly managementUrl: string;
  /** What went wrong that nobody expected. */
  incidents(): readonly string[];
  /** Ends everything in memory at once, in the middle of whatever it does, and starts again over the same data. */
  cutPower(): Promise<void>;
  close(): Promise<void>;
}

export type OpenPlace = (options: PlaceOptions) => Promise<Place>;
