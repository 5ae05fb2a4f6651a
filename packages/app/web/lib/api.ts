/** The way to the API: the one that every other client uses. */
import { t } from './language.ts';

export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly reason?: string;
  readonly detail: string;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
}

/** A request that was refused, or did not reach the server (`status` 0). */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

export interface Answer<T> {
  readonly value: T;
  /** The entity tag, to send back in `ifMatch`. */
  readonly version: string | null;
}

export interface Asked {
  readonly method?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly file?: File;
  readonly ifMatch?: string | null | undefined;
  /** Makes a repeat of the same request harmless. */
  readonly key?: string;
  readonly signal?: AbortSignal;
}

/** @throws Refusal; the abort of `signal` as it is. */
export async function ask<T>(path: string, asked: Asked = {}): Promise<Answer<T>> {
  const { method = asked.body === undefined && !asked.file ? 'GET' : 'POST', body, file, signal } = asked;
  const headers = new Headers();
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (file) headers.set('content-type', file.type || 'application/octet-stream');
  if (asked.ifMatch) headers.set('if-match', asked.ifMatch);
  if (asked.key !== undefined) headers.set('idempotency-key', asked.key);
  const sent = file ?? (body === undefined ? null : JSON.stringify(body));
  const response = await fetch(path, { method, headers, body: sent, signal: signal ?? null }).catch(
    (error: unknown) => {
      if (signal?.aborted) throw error;
      throw new Refusal({ status: 0, code: 'offline', detail: t.offline });
    },
  );
  const text = await response.text();
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
  const answer = isJson && text !== '' ? JSON.parse(text) : null;
  if (!response.ok)
    throw new Refusal({ code: 'unknown', detail: t.failed, ...answer, status: response.status });
  return { value: answer as T, version: response.headers.get('etag') };
}

/** Fills the parameters of a path: `/api/animals/:animal`. What is left of the fields is for the body. */
export function fillPath(
  path: string,
  fields: Readonly<Record<string, unknown>>,
): { readonly path: string; readonly rest: Record<string, unknown> } {
  const rest = { ...fields };
  const filled = path.replaceAll(/:(\w+)/g, (_all, name: string) => {
    const value = rest[name];
    delete rest[name];
    return encodeURIComponent(String(value));
  });
  return { path: filled, rest };
}

/** Whether there is no such record for this reader: it is gone, theirs to see no longer, or its address is none. */
export function isNotHere({ problem: { status } }: Refusal): boolean {
  return status === 404 || status === 403 || status === 400;
}

export function asRefusal(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal({ status: 0, code: 'unknown', detail: t.failed });
}

/** Returns where to sign in to come back to this page. */
export function signInAddress(): string {
  return `/api/auth/login?returnTo=${encodeURIComponent(location.pathname + location.search)}`;
}
