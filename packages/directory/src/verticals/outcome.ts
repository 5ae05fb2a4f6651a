/**
 * Judges the failure of a question to a vertical: either it proves that nothing was done, or it proves nothing (design:
 * control-plane, "Audit"). A log that says "failed" about work that happened is worse than one that says "unknown", so
 * that only a refusal counts as a failure.
 */
import { type FailureOptions, PlatformError, type ProblemCode, publicError } from '@freehold/contracts';

/** Reasons for a question to a vertical without an answer. */
export type Unanswered = 'vertical_unreachable' | 'vertical_timeout' | 'vertical_answer';

/** Reasons that leave open whether the work was done; the last is an engine's, when a unit of its own did not answer. */
const UNDECIDED: ReadonlySet<string | undefined> = new Set<Unanswered | 'unit_unreachable'>([
  'vertical_unreachable',
  'vertical_timeout',
  'vertical_answer',
  'unit_unreachable',
]);

/** A problem with a status that is not the usual one of its code: a vertical's own answer on its way to the caller. */
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
 * Whether an error proves that the work was not done: it was refused, or never asked for. A bug (`internal`), here or in
 * the vertical, can strike before or after the work, and proves nothing.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof PlatformError && error.code !== 'internal' && !UNDECIDED.has(error.reason);
}

/** The error for a caller whose outcome is not known: code and status stay, the reason becomes `outcome_unknown`. */
export function outcomeUnknown(cause: unknown): PlatformError {
  const { status, code, message, headers } = publicError(cause);
  return new ForwardedProblem(
    status,
    code,
    `${message} Whether it was done is not known. The same call can be made again, with the same idempotency key or without one.`,
    { reason: 'outcome_unknown', cause, ...(headers === undefined ? {} : { headers }) },
  );
}
