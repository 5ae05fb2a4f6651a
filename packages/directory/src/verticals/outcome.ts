/**
 * What the failure of a question to a vertical proves: that nothing was done, or nothing at all (design:
 * control-plane, "Audit").
 *
 * A log that says "failed" about something that happened is worse than one that says "unknown", so that only a
 * refusal counts as a failure.
 */
import { type FailureOptions, PlatformError, type ProblemCode, publicError } from '@freehold/contracts';

/** Why a question to a vertical has no answer. */
export type Unanswered = 'vertical_unreachable' | 'vertical_timeout' | 'vertical_answer';

/** Reasons that leave open what was done; the last is how an engine says that a unit of its own did not answer. */
const UNDECIDED: ReadonlySet<string | undefined> = new Set<Unanswered | 'unit_unreachable'>([
  'vertical_unreachable',
  'vertical_timeout',
  'vertical_answer',
  'unit_unreachable',
]);

/** A problem whose status is not the usual one of its code: a vertical's own words on their way to the caller. */
export class ForwardedProblem extends PlatformError {
  readonly #status: number;

  constructor(status: number, code: ProblemCode, detail: string, options: FailureOptions = {}) {
    super(code, detail, options);
    this.#status = status;
  }

  override get status(): number {
    return this.#status;
  }
}

/**
 * Whether an error proves that what was asked for was not done: somebody refused it, or it was never asked. A bug
 * (`internal`), here or in the vertical, strikes at a moment that nobody knows, and proves nothing.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof PlatformError && error.code !== 'internal' && !UNDECIDED.has(error.reason);
}

/** What the caller is told when nobody knows: code and status stay what they are, the reason is `outcome_unknown`. */
export function outcomeUnknown(cause: unknown): PlatformError {
  const { status, code, message, headers } = publicError(cause);
  return new ForwardedProblem(
    status,
    code,
    `${message} Whether it was done is not known. The same call can be made again, with the same idempotency key or without one.`,
    { reason: 'outcome_unknown', cause, ...(headers === undefined ? {} : { headers }) },
  );
}
