/** Judges the answer of a vertical: a good answer, its own refusal, or an answer outside of the contract. */
import {
  type FailureOptions,
  type ManagementRoute,
  PlatformError,
  type ProblemCode,
  problemSchema,
} from '@freehold/contracts';
import { parseJson } from '@freehold/operations/client';
import type { z } from 'zod';

/** The most JSON that is read. The largest good answer is a page of 200 rows with long texts. */
const ANSWER_BYTES_MAX = 32 * 1_024 * 1_024;

/** The reason why there is no answer. With each of them the outcome of the call is unknown. */
export type NoAnswer = 'vertical_unreachable' | 'vertical_timeout' | 'vertical_answer';

/** A refusal in the vertical's own words, with its own status. */
class VerticalProblem extends PlatformError {
  readonly #status: number;

  constructor(status: number, code: ProblemCode, detail: string, options: FailureOptions) {
    super(code, detail, options);
    this.#status = status;
  }

  override get status(): number {
    return this.#status;
  }
}

/**
 * Reads the JSON of an answer and checks it against its route. Fields that the route does not know are dropped.
 * @throws PlatformError as {@link requireSuccess} does, and `runtime_fault`, reason `vertical_answer`.
 */
export async function processJson<R extends ManagementRoute>(
  route: R,
  response: Response,
): Promise<z.output<R['response']>> {
  await requireSuccess(response, 'application/json');
  const parsed = route.response.safeParse(parseJson(await readText(response)));
  if (parsed.success) return parsed.data as z.output<R['response']>;
  throw unusable('The application answered something that is not part of its contract.');
}

/**
 * Accepts a good answer of this media type, and leaves its body unread.
 * @throws PlatformError of a problem document, with its status; `runtime_fault` (502), reason `vertical_answer`, for
 * every other answer.
 */
export async function requireSuccess(response: Response, mediaType: string): Promise<void> {
  const { status } = response;
  const given = mediaTypeOf(response);
  if (response.ok && given === mediaType) return;
  if (status >= 400 && given === 'application/problem+json') {
    const problem = problemSchema.safeParse(parseJson(await readText(response)));
    if (problem.success) {
      const { code, detail, reason, errors } = problem.data;
      const retryAfter = response.headers.get('retry-after');
      throw new VerticalProblem(status, code, detail, {
        ...(reason === undefined ? {} : { reason }),
        ...(errors === undefined ? {} : { errors }),
        ...(retryAfter === null ? {} : { headers: { 'retry-after': retryAfter } }),
      });
    }
  }
  dropBody(response);
  throw unusable(
    response.ok
      ? 'The application answered something that is not part of its contract.'
      : `The application answered with status ${status} and no explanation.`,
  );
}

/** Cancels the body of an answer that is not read on. */
export function dropBody(response: Response): void {
  if (response.body && !response.body.locked) response.body.cancel().catch(() => undefined);
}

export function unusable(detail: string, cause?: unknown): PlatformError {
  return new PlatformError('runtime_fault', detail, { reason: 'vertical_answer' satisfies NoAnswer, cause });
}

/** The error of an answer that ended too early. */
export function brokeOff(cause?: unknown): PlatformError {
  return unusable('The answer of the application broke off.', cause);
}

async function readText(response: Response): Promise<string> {
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
    throw brokeOff(cause);
  }
  return text + decoder.decode();
}

function mediaTypeOf({ headers }: Response): string {
  return (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}
