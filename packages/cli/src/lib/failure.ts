/** Maps failures to one sentence or a problem document, and to an exit code. */
import { PlatformError, type Problem, type ProblemCode, toProblem } from '@freehold/contracts';
import { ControlPlaneError } from '@freehold/control-plane/client';
import { CANNOT_WRITE, Interrupted } from './world.ts';

/** The meaning of the exit codes. They are stable: scripts rely on them. */
export const EXIT_CODES = {
  0: 'done',
  1: 'it failed',
  2: 'the command line, or what it was given, cannot be used as it is',
  3: 'not signed in, or not allowed',
  4: 'there is no such thing',
  5: 'it conflicts with the state there, or with a change that was made in the meantime',
  6: 'the control plane is out of reach or unavailable: try again',
  130: 'interrupted with Ctrl-C',
} as const;

export type ExitStatus = keyof typeof EXIT_CODES;

export interface FailureReport {
  readonly sentence: string;
  readonly problem: Problem;
  readonly exit: ExitStatus;
}

const EXITS: Readonly<Record<ProblemCode, ExitStatus>> = {
  validation_failed: 2,
  method_not_allowed: 1,
  payload_too_large: 2,
  unsupported_media_type: 2,
  unauthenticated: 3,
  permission_denied: 3,
  forbidden: 3,
  not_found: 4,
  conflict: 5,
  invalid_transition: 5,
  immutable: 5,
  precondition_failed: 5,
  rate_limited: 6,
  unavailable: 6,
  runtime_fault: 1,
  unsupported: 1,
  internal: 1,
};

/** Describes any thrown value. An unexpected one is a bug, and the sentence asks for a report. */
export function describeFailure(error: unknown): FailureReport {
  if (error instanceof Interrupted)
    return {
      sentence: error.message,
      problem: toProblem(new PlatformError('internal', error.message)),
      exit: 130,
    };
  if (error instanceof ControlPlaneError) return tellAnswer(error);
  const shown = error instanceof PlatformError ? error : bug(error);
  const exit = shown.reason === CANNOT_WRITE ? 1 : EXITS[shown.code];
  return { sentence: shown.message, problem: toProblem(shown), exit };
}

/** Describes a refusal of the control plane; its own problem document passes unchanged. */
function tellAnswer({ message, status, problem, requestId }: ControlPlaneError): FailureReport {
  const known = problem ?? toProblem(new PlatformError(codeOf(status), message), requestId ?? undefined);
  const hint = known.code === 'unauthenticated' ? ' Sign in with freehold login, or set FREEHOLD_TOKEN.' : '';
  const request = status >= 500 && requestId !== null ? ` (request ${requestId})` : '';
  return { sentence: `${message}${hint}${request}`, problem: known, exit: EXITS[known.code] };
}

/** Guesses the code of an answer without a problem document: a proxy on the way gave it. */
function codeOf(status: number): ProblemCode {
  if (status === 401) return 'unauthenticated';
  if (status === 403) return 'forbidden';
  if (status === 429) return 'rate_limited';
  return [502, 503, 504].includes(status) ? 'unavailable' : 'internal';
}

function bug(error: unknown): PlatformError {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new PlatformError('internal', `This is a bug of freehold, please report it: ${what}`, {
    cause: error,
  });
}
