/** Asks a vertical something under `/internal/*` and judges the answer (spec 4.4; design: vertical-host). */
import {
  MANAGED_SCOPE_HEADER,
  MANAGED_TENANT_HEADER,
  PLATFORM_SECRET_HEADER,
  PlatformError,
  PROBLEMS,
  type ProblemCode,
  problemSchema,
  type ScopeRef,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { z } from 'zod';
import type { ScopeRecord } from '../declarations/records.ts';
import type { BoundVertical, VerticalGateway } from './gateway.ts';
import { ForwardedProblem, type Unanswered } from './outcome.ts';
import { noVertical } from './reach.ts';

/** The origin of requests about no particular host name; only their path matters to a vertical. */
const INTERNAL_ORIGIN = 'http://vertical.internal';
/** The most bytes of an answer that are read: a page of 200 large events fits, a runaway stream does not. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
/** The most time that a vertical may take: provisioning runs every migration of a new database. */
export const VERTICAL_TIMEOUT_MS = 30_000;

const UNUSABLE = 'vertical_answer' satisfies Unanswered;

export interface VerticalQuestion<S extends z.ZodType> {
  /** Default `http://vertical.internal`. */
  readonly origin?: string;
  /** Below `/internal/`. */
  readonly path: string;
  readonly scope: ScopeRef;
  /** GET: further query fields. Undefined ones are left out. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Present makes it a POST: further body fields. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Present makes it a POST with these bytes as its body; scope and `query` stay in the address. */
  readonly content?: Content;
  /** The most time that the vertical may take. Default: 30 seconds. */
  readonly timeoutMs?: number;
  /** True passes the status of a refusal on even when it has no problem document (spec 7.5). Default: that is a fault. */
  readonly forward?: boolean;
  /** The schema of a good answer. */
  readonly answer: S;
}

interface Content {
  readonly mediaType: string;
  readonly body: ReadableStream<Uint8Array>;
}

/** Starts the timer of one request: a vertical that never answers must not keep callers waiting. */
export type Deadline = (timeoutMs: number) => AbortSignal;

/** The means to ask a vertical. */
export interface VerticalAccess {
  readonly gateway: VerticalGateway;
  readonly deadline: Deadline;
}

/** One question about a scope, for a worker and for a co-located host. */
interface ScopeQuestion<S extends z.ZodType> extends Omit<VerticalQuestion<S>, 'scope' | 'origin'> {
  local(host: VerticalScopeHost, scope: ScopeRef): Promise<unknown>;
}

/**
 * Asks by the read ladder (spec 4.3.1): the vertical's worker when one is bound, else its co-located host. The schema of the
 * question judges the answer of either, to reads and to writes alike.
 * @throws PlatformError `unsupported` (501) with a diagnosis when neither is there; the vertical's own refusal;
 * `runtime_fault` (502) for an answer that does not fit, reason `vertical_answer`, and as `askVertical` does.
 */
export async function askScope<S extends z.ZodType>(
  { gateway, deadline }: VerticalAccess,
  { tenant, id, vertical }: Pick<ScopeRecord, 'tenant' | 'id' | 'vertical'>,
  { local, ...question }: ScopeQuestion<S>,
): Promise<z.output<S>> {
  const ref = { tenantId: tenant, scopeId: id };
  const bound = gateway.bound(vertical);
  if (bound) return askVertical(bound, { ...question, scope: ref }, deadline);
  const host = gateway.local(vertical);
  if (!host) throw noVertical(vertical);
  return judge(question.answer, await local(host, ref));
}

/**
 * Asks a worker, and returns its answer.
 * @throws PlatformError the vertical's own refusal, with its status unchanged; `runtime_fault` (502), reason
 * `vertical_unreachable`, `vertical_timeout` or `vertical_answer`, when there is nothing to pass on.
 */
export async function askVertical<S extends z.ZodType>(
  vertical: BoundVertical,
  question: VerticalQuestion<S>,
  deadline: Deadline,
): Promise<z.output<S>> {
  const signal = deadline(question.timeoutMs ?? VERTICAL_TIMEOUT_MS);
  const { response, text } = await bounded(signal, exchange(vertical, requestOf(vertical, question, signal)));
  const body = parseJson(text);
  if (!response.ok) throw refusal(response, body, question.forward ?? false);
  return judge(question.answer, body);
}

/** @throws PlatformError `runtime_fault`, reason `vertical_answer`. */
export function judge<S extends z.ZodType>(schema: S, answer: unknown): z.output<S> {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw unusable('The application answered something that is not part of its contract.');
}

async function exchange(
  vertical: BoundVertical,
  request: Request,
): Promise<{ readonly response: Response; readonly text: string }> {
  const response = await send(vertical, request);
  return { response, text: await readText(response) };
}

/** Sends one request. @throws PlatformError `runtime_fault` (502), reason `vertical_unreachable`. */
export async function send(vertical: BoundVertical, request: Request): Promise<Response> {
  try {
    return await vertical.fetch(request);
  } catch (cause) {
    throw fault('vertical_unreachable', 'The application behind this scope could not be reached.', cause);
  }
}

export function requestOf<S extends z.ZodType>(
  vertical: BoundVertical,
  { origin = INTERNAL_ORIGIN, path, scope, query = {}, body, content }: Omit<VerticalQuestion<S>, 'answer'>,
  signal: AbortSignal,
  accept = 'application/json',
): Request {
  const url = new URL(`/internal/${path}`, origin);
  const headers = new Headers({
    [PLATFORM_SECRET_HEADER]: vertical.platformSecret,
    [MANAGED_TENANT_HEADER]: scope.tenantId,
    [MANAGED_SCOPE_HEADER]: scope.scopeId,
    accept,
  });
  // A redirect would carry the vertical's secret to wherever it points.
  const options = { headers, redirect: 'manual', signal } as const;
  if (body) {
    headers.set('content-type', 'application/json');
    return new Request(url, { ...options, method: 'POST', body: JSON.stringify({ ...scope, ...body }) });
  }
  for (const [name, value] of Object.entries({ ...scope, ...query })) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  if (!content) return new Request(url, options);
  headers.set('content-type', content.mediaType);
  // Named first: workerd streams without `duplex`, and its types lack it.
  const streaming = { ...options, method: 'POST', body: content.body, duplex: 'half' } as const;
  return new Request(url, streaming);
}

/**
 * Waits no longer than the signal allows: a vertical in this process may ignore it.
 * @throws PlatformError `runtime_fault` (502), reason `vertical_timeout`.
 */
export async function bounded<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void =>
    reject(fault('vertical_timeout', 'The application took too long to answer.', signal.reason));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    // A copy of a scope waits many times: listeners would pile up until each timer has run out.
    signal.removeEventListener('abort', abort);
  }
}

/** The text of an answer. @throws PlatformError `runtime_fault`, reason `vertical_answer`. */
export async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > ANSWER_BYTES_MAX) throw unusable('The application answered more than fits.');
      text += decoder.decode(chunk, { stream: true });
    }
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    throw unusable('The answer of the application broke off.', cause);
  }
  return text + decoder.decode();
}

/** The value, or undefined for text that is no JSON: no schema here accepts undefined. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The vertical's own refusal, or a fault of its runtime when it sent no problem document. */
export function refusal(response: Response, body: unknown, forward: boolean): PlatformError {
  const { status } = response;
  const problem = problemSchema.safeParse(body);
  if (status >= 400 && problem.success) {
    const { code, detail, reason, errors } = problem.data;
    return new ForwardedProblem(status, code, detail, {
      headers: retryAfter(response),
      ...(reason === undefined ? {} : { reason }),
      ...(errors === undefined ? {} : { errors }),
    });
  }
  const detail = `The application answered with status ${status} and no explanation.`;
  if (status < 400 || !forward) return unusable(detail);
  // A bare 5xx may come from a proxy on the way, and after the work was done.
  return new ForwardedProblem(status, codeOf(status), detail, status < 500 ? {} : { reason: UNUSABLE });
}

function codeOf(status: number): ProblemCode {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  return codes.find((code) => PROBLEMS[code].status === status) ?? 'runtime_fault';
}

function retryAfter(response: Response): Readonly<Record<string, string>> {
  const value = response.headers.get('retry-after');
  return value === null ? {} : { 'retry-after': value };
}

export function unusable(detail: string, cause?: unknown): PlatformError {
  return fault(UNUSABLE, detail, cause);
}

function fault(reason: Unanswered, detail: string, cause?: unknown): PlatformError {
  return new PlatformError('runtime_fault', detail, { reason, cause });
}
