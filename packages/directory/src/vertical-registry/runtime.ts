/** The ports to whatever runs uploaded versions, and to whatever watches what they call. Neither has to be there. */
import type { VerticalManifest } from '@freehold/contracts';

/** One file of a version. */
export interface RuntimeModule {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** How much of an upload a runtime has taken so far. */
export interface TakenModules {
  readonly modules: number;
  readonly bytes: number;
}

/**
 * Runs versions that were uploaded. Each method may be called again after a failure with the same input, and is then to
 * come to the same end. A `PlatformError` says that nothing was done; anything else that is thrown leaves that open.
 */
export interface VerticalRuntime {
  /**
   * Puts a version where it can be run, under its archive script.
   * @param onTaken told how far it is, as often as the runtime likes. It does not throw.
   */
  upload(
    upload: {
      readonly vertical: string;
      readonly version: string;
      readonly script: string;
      readonly manifest: VerticalManifest;
      readonly modules: readonly RuntimeModule[];
    },
    onTaken: (taken: TakenModules) => void,
  ): Promise<void>;
  /** Makes an uploaded version the one that the serving script runs. */
  serve(choice: {
    readonly vertical: string;
    readonly version: string;
    readonly servingScript: string;
    readonly archiveScript: string;
  }): Promise<void>;
}

/** One host that a version was seen calling. */
export interface ObservedHost {
  readonly version: string;
  readonly host: string;
  readonly calls: number;
  readonly lastSeenAtMs: number;
}

/** Watches the outgoing calls of verticals. */
export interface EgressObserver {
  observed(query: {
    readonly vertical: string;
    readonly sinceMs: number;
    /** How many hosts at most. */
    readonly limit: number;
  }): Promise<{
    readonly hosts: readonly ObservedHost[];
    /** Whether only a part of the calls was looked at. */
    readonly sampled: boolean;
    /** Whether there were more hosts than the limit. */
    readonly truncated: boolean;
  }>;
}
