/** Asks a bound vertical something under `/internal/*` and judges what it answers (spec 4.4; design: vertical-host). */
import {
  PLATFORM_SECRET_HEADER,
  PlatformError,
  PROBLEMS,
  type ProblemCode,
  problemSchema,
  type ScopeRef,
} from '@freehold/contracts';
import type { z } from 'zod';
import type { BoundVertical } from '../gateway.ts';
import { ForwardedProblem, type Unanswered } from './outcome.ts';

/** Where a request goes that is about no host name in particular; only its path matters to a vertical. */
export const INTERNAL_ORIGIN = 'http://vertical.internal';
/** How much of an answer is read: a page of 200 large events fits, a runaway stream does not. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
/** How long a vertical may take: provisioning runs every migration of a new database. */
export const VERTICAL_TIMEOUT_MS = 30_000;

/** The reason of an answer that is of no use. */
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
  /** Present makes it a POST whose body are these bytes; scope and `query` stay in the address. */
  readonly content?: Content;
  /** How long the vertical may take. Default: 30 seconds. */
  readonly timeoutMs?: number;
  /** True passes the status of a refusal on even when it explains nothing (spec 7.5). Default: that is a fault. */
  readonly forward?: boolean;
  /** What a good answer looks like. */
  readonly answer: S;
}

/** Bytes that go along with a question. */
export interface Content {
  readonly mediaType: string;
  readonly body: ReadableStream<Uint8Array>;
}

/** A timer for one request, so that a vertical that never answers holds nobody up. */
export type Deadline = (timeoutMs: number) => AbortSignal;

/**
 * Asks, and answers what the vertical said.
 * @throws PlatformError what the vertical itself said when it refused, with its status unchanged; `runtime_fault`
 * (502), reason `vertical_unreachable`, `vertical_timeout` or `vertical_answer`, when there is nothing to pass on.
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
  const parsed = question.answer.safeParse(body);
  if (!parsed.success) throw unusable('The application answered something that is not part of its contract.');
  return parsed.data;
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

/** The request that a question makes. */
export function requestOf<S extends z.ZodType>(
  vertical: BoundVertical,
  { origin = INTERNAL_ORIGIN, path, scope, query = {}, body, content }: Omit<VerticalQuestion<S>, 'answer'>,
  signal: AbortSignal,
  accept = 'application/json',
): Request {
  const url = new URL(`/internal/${path}`, origin);
  const headers = new Headers({ [PLATFORM_SECRET_HEADER]: vertical.platformSecret, accept });
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
  // Named first: workerd streams without `duplex`, and its types do not know the word.
  const streaming = { ...options, method: 'POST', body: content.body, duplex: 'half' } as const;
  return new Request(url, streaming);
}

/**
 * Waits no longer than the signal allows: a vertical in this process may not look at it.
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
    // A copy of a scope waits many times: what it leaves behind would pile up until each timer has run out.
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

/** The value, or undefined, which no schema of ours accepts. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The vertical's own refusal, or a fault of its runtime when it did not speak the platform's language. */
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
  // A 5xx without a word may come from anything on the way, and after the work was done.
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

/** Says that an answer was of no use. */
export function unusable(detail: string, cause?: unknown): PlatformError {
  return fault(UNUSABLE, detail, cause);
}

function fault(reason: Unanswered, detail: string, cause?: unknown): PlatformError {
  return new PlatformError('runtime_fault', detail, { reason, cause });
}
