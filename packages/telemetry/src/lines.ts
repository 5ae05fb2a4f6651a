/** The facts that are measured. None holds what a sender wrote, but its method. */

/** One answered request. */
export interface ServedLine {
  /** When it was answered, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The script that answered: the serving one, or that of the version that the scope is bound to. */
  readonly script: string;
  readonly vertical: string;
  readonly version: string;
  readonly tenant: string;
  readonly scope: string;
  /** The declared operation, or the method and the first word of the path. */
  readonly operation: string | null;
  readonly status: number;
  readonly durationMs: number;
  /** W3C trace id, 32 hexadecimal digits. */
  readonly traceId: string | null;
  /** The platform's own span, and that of the sender, 16 hexadecimal digits each; null where they are not known. */
  readonly spanId: string | null;
  readonly parentSpanId: string | null;
}

/** One line that the code of a vertical wrote, or an exception that it did not catch. */
export interface LogLine {
  readonly atMs: number;
  readonly vertical: string;
  readonly version: string;
  readonly tenant: string | null;
  readonly scope: string | null;
  readonly kind: 'console' | 'exception';
  readonly level: string;
  readonly text: string;
  /** The stack of an exception, by the builder's source where its map is known. */
  readonly stack: string | null;
}

/** One outgoing call of a vertical. */
export interface EgressCall {
  readonly atMs: number;
  readonly vertical: string;
  readonly version: string;
  readonly host: string;
  readonly bytes: number;
  /** It was refused, or no answer came. */
  readonly failed: boolean;
}
