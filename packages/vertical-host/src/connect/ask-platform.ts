/** A vertical's request to the platform: one POST to the control plane, with the vertical's own secret. */
import { PLATFORM_SECRET_HEADER, type ProblemCode, problemSchema } from '@freehold/contracts';
import { parseJson } from '@freehold/operations/client';
import type { z } from 'zod';

export interface PlatformAddress {
  readonly controlPlaneUrl: string;
  /** The platform's secret for this vertical: `fh_vrt_…`. */
  readonly platformSecret: string;
}

export interface PlatformRequestOptions {
  /** Default: the global one. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Bounds the time for an answer. Default: ten seconds. */
  readonly signal?: AbortSignal;
}

/** The platform's refusal. `status` is the status of its answer. */
export abstract class PlatformRequestError extends Error {
  readonly status: number;
  /** Of the platform's closed list; `runtime_fault` when the answer is outside of the contract. */
  readonly code: ProblemCode;
  /** A sentence for a person. */
  readonly detail: string;
  /** The narrower reason, where there is one: `unknown_scope`, `not_granted`. */
  readonly reason: string | undefined;

  constructor(refusal: Refusal) {
    super(refusal.detail);
    this.status = refusal.status;
    this.code = refusal.code;
    this.detail = refusal.detail;
    this.reason = refusal.reason;
  }
}

export type Refusal = Pick<PlatformRequestError, 'status' | 'code' | 'detail' | 'reason'>;

export interface PlatformQuestion<S extends z.ZodType> {
  /** Below the control plane's address. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly idempotencyKey?: string | undefined;
  /** The schema of a good answer. */
  readonly answer: S;
  /** The error class of a refusal. */
  readonly Refused: new (
    refusal: Refusal,
  ) => PlatformRequestError;
}

/** A person waits for the answer. */
const TIMEOUT_MS = 10_000;

/**
 * Sends a request, and returns the platform's answer.
 * @throws PlatformRequestError when the platform refuses, or its answer is not part of its contract.
 * @throws TypeError as `fetch` does, when the control plane cannot be reached; also when it takes too long.
 */
export async function askPlatform<S extends z.ZodType>(
  { controlPlaneUrl, platformSecret }: PlatformAddress,
  question: PlatformQuestion<S>,
  options: PlatformRequestOptions,
): Promise<{ readonly status: number; readonly value: z.output<S> }> {
  const { path, body, idempotencyKey } = question;
  const { fetch = globalThis.fetch, signal = AbortSignal.timeout(TIMEOUT_MS) } = options;
  const request = new Request(`${controlPlaneUrl.replace(/\/+$/, '')}${path}`, {
    method: 'POST',
    headers: {
      [PLATFORM_SECRET_HEADER]: platformSecret,
      'content-type': 'application/json',
      accept: 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(body),
    // A redirect would carry the secret to another address.
    redirect: 'manual',
    signal,
  });
  try {
    const response = await fetch(request);
    const { status } = response;
    return { status, value: processAnswer(status, parseJson(await response.text()), question) };
  } catch (error) {
    if (signal.aborted && error === signal.reason)
      throw new TypeError('The control plane took too long to answer.', { cause: error });
    throw error;
  }
}

/** Judges an answer of the control plane. @throws PlatformRequestError */
function processAnswer<S extends z.ZodType>(
  status: number,
  json: unknown,
  { answer, Refused }: PlatformQuestion<S>,
): z.output<S> {
  if (status >= 200 && status < 300) {
    const parsed = answer.safeParse(json);
    if (parsed.success) return parsed.data;
  }
  const problem = problemSchema.safeParse(json);
  if (status >= 400 && problem.success) {
    const { code, detail, reason } = problem.data;
    throw new Refused({ status, code, detail, reason });
  }
  throw new Refused({
    status: status >= 400 ? status : 502,
    code: 'runtime_fault',
    detail: 'The control plane answered something that is not part of its contract.',
    reason: undefined,
  });
}
