/** The latest requests of the application, each with the lines and errors that belong to it. */
import { randomBytes } from 'node:crypto';

export interface LoggedLine {
  /** `error` for an error that the application did not catch, otherwise the method of `console`. */
  readonly level: string;
  readonly text: string;
  /** The first place in the builder's source, of an error: `src/app.ts:12:7`; null where none is known. */
  readonly place: string | null;
}

export interface LoggedRequest {
  readonly at: string;
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  /** Null while it is running, and where no answer came. */
  readonly status: number | null;
  readonly durationMs: number | null;
  readonly lines: readonly LoggedLine[];
}

interface Entry extends LoggedRequest {
  status: number | null;
  durationMs: number | null;
  readonly lines: LoggedLine[];
}

const REQUESTS_MAX = 200;
const LINES_MAX = 100;

export class RequestLog {
  /** By trace id, the oldest first. */
  readonly #requests = new Map<string, Entry>();
  /** Lines of reactions and schedules, which belong to no request. */
  readonly #background: LoggedLine[] = [];

  /** Returns the trace that the request is given, and the function that notes its answer. */
  begin({ method, url }: Pick<Request, 'method' | 'url'>): {
    readonly traceparent: string;
    readonly end: (status: number) => void;
  } {
    const trace = randomBytes(16).toString('hex');
    const startedAtMs = performance.now();
    const at = new Date().toISOString();
    const entry: Entry = {
      at,
      method,
      path: new URL(url).pathname,
      status: null,
      durationMs: null,
      lines: [],
    };
    this.#requests.set(trace, entry);
    const [oldest] = this.#requests.keys();
    if (this.#requests.size > REQUESTS_MAX && oldest !== undefined) this.#requests.delete(oldest);
    return {
      traceparent: `00-${trace}-${randomBytes(8).toString('hex')}-01`,
      end: (status) => {
        entry.status = status;
        entry.durationMs = Math.round(performance.now() - startedAtMs);
      },
    };
  }

  /** @param trace of the request; undefined for a line that belongs to none. */
  note(trace: string | undefined, line: LoggedLine): void {
    const lines = (trace !== undefined && this.#requests.get(trace)?.lines) || this.#background;
    lines.push(line);
    if (lines.length > LINES_MAX) lines.shift();
  }

  /** The newest first. @param path a beginning that paths have. */
  latest({ path, limit }: { readonly path: string; readonly limit: number }): {
    readonly requests: readonly LoggedRequest[];
    readonly background: readonly LoggedLine[];
  } {
    const found = [...this.#requests.values()].filter((each) => each.path.startsWith(path));
    return {
      requests: found.toReversed().slice(0, limit),
      background: this.#background.toReversed().slice(0, limit),
    };
  }
}
