/** Asks the platform for a consent URL, to send a person's browser to (spec 4.7). */
import { PLATFORM_SECRET_HEADER, type ProblemCode, problemSchema } from '@freehold/contracts';
import { CONNECT_URL_PATH, type ConnectUrlResponse, connectUrlResponse } from '@freehold/contracts/http';

export interface ConnectUrlOrder {
  /** Where the control plane is reached. */
  readonly controlPlaneUrl: string;
  readonly platformSecret: string;
  readonly tenantId: string;
  readonly scopeId: string;
  /** One with a platform consent round. */
  readonly provider: string;
  /** The principal whose permission check passed; stamped on the resulting connection. */
  readonly createdBy: string;
  /** The caller's own name for what is connected; echoed back. */
  readonly subjectRef: string;
  /** An https URL of a surface that is bound to this scope. The answer comes back in its query. */
  readonly returnUrl: string;
  /** At most 900, which is also the default. More is refused, and not clamped. */
  readonly ttlSeconds?: number;
}

export interface ConnectUrlOptions {
  /** Default: the global one. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Bounds how long the control plane may take. Default: ten seconds. */
  readonly signal?: AbortSignal;
}

/** The platform's refusal. `status` is the very status that it answered with. */
export class ConnectUrlRequestError extends Error {
  override readonly name = 'ConnectUrlRequestError';
  readonly status: number;
  /** Of the platform's closed list; `runtime_fault` when the answer is none of the platform's. */
  readonly code: ProblemCode;
  /** A sentence for a person. */
  readonly detail: string;
  /** The narrower reason, where there is one: `no_consent_round`, `return_url_unbound`. */
  readonly reason: string | undefined;

  constructor(refusal: Pick<ConnectUrlRequestError, 'status' | 'code' | 'detail' | 'reason'>) {
    super(refusal.detail);
    this.status = refusal.status;
    this.code = refusal.code;
    this.detail = refusal.detail;
    this.reason = refusal.reason;
  }
}

/** A person waits for this. */
const TIMEOUT_MS = 10_000;

/**
 * Asks for a consent URL. `vertical` of the answer is what the platform's own record says.
 * @throws ConnectUrlRequestError when the platform refuses, or answers what is not part of its contract.
 * @throws TypeError as `fetch` does, when the control plane cannot be reached; also when it takes too long.
 */
export async function requestConnectUrl(
  order: ConnectUrlOrder,
  options: ConnectUrlOptions = {},
): Promise<ConnectUrlResponse> {
  const { controlPlaneUrl, platformSecret, ...body } = order;
  const { fetch = globalThis.fetch, signal = AbortSignal.timeout(TIMEOUT_MS) } = options;
  const request = new Request(`${controlPlaneUrl.replace(/\/+$/, '')}${CONNECT_URL_PATH}`, {
    method: 'POST',
    headers: {
      [PLATFORM_SECRET_HEADER]: platformSecret,
      'content-type': 'application/json',
      accept: 'application/json',
    },
    body: JSON.stringify(body),
    // A redirect would carry the platform secret to wherever it points.
    redirect: 'manual',
    signal,
  });
  try {
    const response = await fetch(request);
    return processConnectUrl(response.status, await jsonOf(response));
  } catch (error) {
    if (signal.aborted && error === signal.reason)
      throw new TypeError('The control plane took too long to answer.', { cause: error });
    throw error;
  }
}

/** Judges an answer of the control plane. @throws ConnectUrlRequestError */
function processConnectUrl(status: number, json: unknown): ConnectUrlResponse {
  if (status >= 200 && status < 300) {
    const parsed = connectUrlResponse.safeParse(json);
    if (parsed.success) return parsed.data;
  }
  const problem = problemSchema.safeParse(json);
  if (status >= 400 && problem.success) {
    const { code, detail, reason } = problem.data;
    throw new ConnectUrlRequestError({ status, code, detail, reason });
  }
  throw new ConnectUrlRequestError({
    status: status >= 400 ? status : 502,
    code: 'runtime_fault',
    detail: 'The control plane answered something that is not part of its contract.',
    reason: undefined,
  });
}

/** The parser's own error quotes the text: it goes nowhere. */
async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
