/** Our own refusals as the framework's exceptions, carrying the problem document they become (spec 7.4). */
import type { PlatformError } from '@freehold/contracts';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { problemAnswer } from './answers.ts';

/** An exception that any Hono application answers with the error's problem document, without a handler of its own. */
export function httpProblem(error: PlatformError): HTTPException {
  return new HTTPException(error.status as ContentfulStatusCode, {
    message: error.message,
    res: problemAnswer(error),
    cause: error.cause,
  });
}
