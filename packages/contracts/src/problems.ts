/**
 * Public failures: the closed list of codes, the error that carries one, and its RFC 9457 document (spec 2.7 and 7;
 * design: control-plane, "Errors").
 */
import { z } from 'zod';
import { IN_WORDS } from './error-map.ts';

/** Every code, with its status and its text for a person. */
export const PROBLEMS = {
  validation_failed: { status: 400, title: 'The request does not have the form this operation takes' },
  unauthenticated: { status: 401, title: 'Sign in first' },
  permission_denied: { status: 403, title: 'You do not have the permission for this' },
  forbidden: { status: 403, title: 'This is not allowed' },
  not_found: { status: 404, title: 'There is nothing here' },
  method_not_allowed: { status: 405, title: 'This address does not take that method' },
  conflict: { status: 409, title: 'This collides with what is already there' },
  invalid_transition: { status: 409, title: 'This step is not possible from the present state' },
  immutable: { status: 409, title: 'This can no longer be changed' },
  precondition_failed: { status: 412, title: 'This was changed in the meantime' },
  payload_too_large: { status: 413, title: 'The request is too large' },
  unsupported_media_type: { status: 415, title: 'This media type is not accepted here' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  unsupported: { status: 501, title: 'This is not available here' },
  runtime_fault: { status: 502, title: 'The application behind this address failed' },
  unavailable: { status: 503, title: 'This is not available right now' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

const PROBLEM_CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** One thing wrong with the input: where (`order.lines.0.quantity`, empty for the whole) and what. */
export interface FieldError {
  readonly path: string;
  readonly message: string;
}

export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int().min(400).max(599),
    code: z.enum(PROBLEM_CODES),
    detail: z.string(),
    error: z.string().describe('A copy of detail for one migration window; read detail.'),
    reason: z.string().optional(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    requestId: z.string().optional(),
  })
  .meta({ id: 'Problem' });

/** An RFC 9457 document as every surface of the platform answers it (spec 2.7). */
export type Problem = z.infer<typeof problemSchema>;

/** The members of a failure beyond its code. */
export interface FailureOptions {
  /** A narrower reason, a stable snake_case word. */
  readonly reason?: string;
  readonly errors?: readonly FieldError[];
  /** Response headers of the status, such as `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The error behind this one. It never leaves the process. */
  readonly cause?: unknown;
}

/** A failure as a plain JSON value, between a unit and its caller. */
export interface Failure {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly reason?: string;
  readonly errors?: readonly FieldError[];
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A failure that the caller may see: `code` is its kind, `message` a sentence for a person, without tokens, cookies and
 * payloads. Any other thrown value is our bug and becomes `internal`.
 */
export class PlatformError extends Error {
  override readonly name = 'PlatformError';
  readonly code: ProblemCode;
  readonly reason: string | undefined;
  readonly errors: readonly FieldError[] | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(code: ProblemCode, detail: string, options: FailureOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.reason = options.reason;
    this.errors = options.errors;
    this.headers = options.headers;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/** Returns the wire form of an error. */
export function toFailure(error: PlatformError): Failure {
  return {
    code: error.code,
    detail: error.message,
    ...(error.reason === undefined ? {} : { reason: error.reason }),
    ...(error.errors === undefined ? {} : { errors: error.errors }),
    ...(error.headers === undefined ? {} : { headers: error.headers }),
  };
}

/** Returns the error of a wire form. A code that is not on the list is its maker's bug: `internal`. */
export function fromFailure(failure: Failure): PlatformError {
  if (!Object.hasOwn(PROBLEMS, failure.code)) return publicError(failure);
  return new PlatformError(failure.code, failure.detail, failure);
}

/** Returns the public error for a thrown value: a {@link PlatformError} itself, `internal` for any other. Never throws. */
export function publicError(thrown: unknown): PlatformError {
  try {
    if (thrown instanceof PlatformError) return thrown;
  } catch {
    // A proxy can throw even at `instanceof`.
  }
  return new PlatformError('internal', 'Something went wrong on our side. It has been recorded.', {
    cause: thrown,
  });
}

export function toProblem(error: PlatformError, requestId?: string): Problem {
  return {
    type: `/problems/${error.code}`,
    title: PROBLEMS[error.code].title,
    status: error.status,
    code: error.code,
    detail: error.message,
    error: error.message,
    ...(error.reason === undefined ? {} : { reason: error.reason }),
    ...(error.errors === undefined ? {} : { errors: error.errors.map((each) => ({ ...each })) }),
    ...(requestId === undefined ? {} : { requestId }),
  };
}

/**
 * Returns the response of an error: `application/problem+json`, never stored by a cache (RFC 9457, section 3).
 * @param requestId in the body and in the header `X-Request-Id`. Default: in neither.
 */
export function problemDocument(error: PlatformError, requestId?: string): Response {
  return new Response(JSON.stringify(toProblem(error, requestId)), {
    status: error.status,
    headers: {
      ...(error.code === 'unauthenticated' ? { 'www-authenticate': 'Bearer' } : {}),
      ...error.headers,
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
    },
  });
}

/**
 * Returns the error of a refused input: `validation_failed` with one entry a fault.
 * @param subject the start of the sentence: "The body", "The query".
 */
export function validationError(subject: string, error: z.ZodError): PlatformError {
  const errors = error.issues.map((issue) => ({
    path: issue.path.map(String).join('.'),
    message: issue.message,
  }));
  const first = errors[0];
  const where = first?.path ? `${first.path}: ${first.message}` : (first?.message ?? 'is not valid');
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return new PlatformError(
    'validation_failed',
    `${subject} is not valid. ${where.replace(/\.$/, '')}${more}.`,
    { errors },
  );
}

/** Parses unknown input with a schema. @throws PlatformError the {@link validationError} of it. */
export function parseInput<S extends z.ZodType>(subject: string, schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value, IN_WORDS);
  if (!parsed.success) throw validationError(subject, parsed.error);
  return parsed.data;
}
