/** The place where fieldwork runs, the same for every runtime. */

export interface PlaceOptions {
  readonly platformSecret: string;
  readonly sealKey: string;
  /** The operator's own issuer, on loopback. */
  readonly issuerUrl: string;
  /** The built pages: path → text. */
  readonly pages: Readonly<Record<string, string>>;
}

export interface Place {
  /** The port for people: `http://<host name of a business>:<port>`. It survives a power cut. */
  readonly port: number;
  /** The address of the management contract. */
  readonly managementUrl: string;
  /** Unexpected errors. */
  incidents(): readonly string[];
  /** Ends everything in memory at once, in the middle of its work, and starts again over the same data. */
  cutPower(): Promise<void>;
  close(): Promise<void>;
}

export type OpenPlace = (options: PlaceOptions) => Promise<Place>;
