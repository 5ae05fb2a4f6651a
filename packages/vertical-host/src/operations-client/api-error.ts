/** How a call fails in the front end: with a sentence for the person in front of it. */
import type { Problem, ProblemCode } from '@freehold/contracts';

/** The problem's code, or `unreachable` when no answer came. */
export type ApiErrorCode = ProblemCode | 'unreachable';

/** A failure to show: `message` is the problem's `detail`. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** 0 when no answer came. */
  readonly status: number;
  readonly code: ApiErrorCode;
  /** The narrower reason, where there is one. */
  readonly reason: string | undefined;
  /** Path of an input field → what is wrong with it. */
  readonly fields: ReadonlyMap<string, string>;
  /** What to tell the operator; null when the answer did not say. */
  readonly requestId: string | null;

  constructor(
    status: number,
    problem: Pick<Partial<Problem>, 'reason' | 'errors' | 'requestId'> & {
      readonly code: ApiErrorCode;
      readonly detail: string;
    },
  ) {
    super(problem.detail);
    this.status = status;
    this.code = problem.code;
    this.reason = problem.reason;
    this.fields = new Map(problem.errors?.map(({ path, message }) => [path, message]));
    this.requestId = problem.requestId ?? null;
  }
}

/** The error of an answer that is none of success: its status, and its body as JSON or null. */
export function apiErrorOf(status: number, body: unknown): ApiError {
  if (isProblem(body)) return new ApiError(status, body);
  // Whoever answered is not the application: a proxy, or a server that is being replaced.
  const isBusy = [502, 503, 504].includes(status);
  return new ApiError(status, {
    code: isBusy ? 'unavailable' : 'internal',
    detail: isBusy
      ? 'The application cannot be reached right now. Try again in a moment.'
      : 'Something went wrong on our side. Try again in a moment.',
  });
}

/** Nobody answered. */
export function unreachable(): ApiError {
  return new ApiError(0, {
    code: 'unreachable',
    detail: 'The server cannot be reached. Check your connection and try again.',
  });
}

function isProblem(body: unknown): body is Problem {
  return (
    typeof body === 'object' &&
    body !== null &&
    'code' in body &&
    typeof body.code === 'string' &&
    'detail' in body &&
    typeof body.detail === 'string'
  );
}
