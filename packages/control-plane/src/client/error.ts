/** How a call to the control plane fails: with the problem that it answered. */
import type { Problem, ProblemCode } from '@freehold/contracts';

/**
 * The control plane refused, or what answered in its place did not make sense. A control plane that cannot be reached
 * is not this: then `fetch`'s own TypeError goes through as it is.
 */
export class ControlPlaneError extends Error {
  override readonly name = 'ControlPlaneError';
  /** The HTTP status. */
  readonly status: number;
  /** The problem document; null when the answer was none (a proxy's page, an answer of another form). */
  readonly problem: Problem | null;
  /** What to tell the operator of the control plane; null when the answer did not say. */
  readonly requestId: string | null;

  constructor(message: string, answer: Pick<ControlPlaneError, 'status' | 'problem' | 'requestId'>) {
    super(message);
    this.status = answer.status;
    this.problem = answer.problem;
    this.requestId = answer.requestId;
  }

  /** The closed code of the problem; null when there is no problem document. */
  get code(): ProblemCode | null {
    return this.problem?.code ?? null;
  }

  /** The narrower reason, where there is one. */
  get reason(): string | null {
    return this.problem?.reason ?? null;
  }
}
