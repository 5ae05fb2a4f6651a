/** Makes a handler's thrown value safe to handle: any value can be thrown, and must cost only its own call. */
import { type Failure, fromFailure, PlatformError, PROBLEMS, toFailure } from '@freehold/contracts';
import { plainValue, RollbackThen, TransactionLost } from '@freehold/store';

/**
 * Returns an error whose class, code and text can be read without throwing. A `PlatformError` keeps its public text;
 * another error stays itself; a null, a text, a throwing proxy or an error with throwing getters becomes a TypeError
 * that names the operation.
 */
export function soundError(operation: string, thrown: unknown): Error {
  try {
    if (thrown instanceof TransactionLost) return thrown;
    if (thrown instanceof PlatformError) {
      const failure = plainValue(toFailure(thrown)) as Failure;
      if (Object.hasOwn(PROBLEMS, failure.code)) return fromFailure(failure);
      return new TypeError(`operation ${operation} failed with a code that is not on the list`);
    }
    // Only the kernel may roll back and write something else; a handler may not.
    const isError = thrown instanceof Error && !(thrown instanceof RollbackThen);
    if (isError && typeof thrown.message === 'string' && typeof (thrown.stack ?? '') === 'string')
      return thrown;
  } catch {
    // Reading it threw.
  }
  return new TypeError(`operation ${operation} threw ${describe(thrown)} instead of an error`);
}

function describe(thrown: unknown): string {
  return typeof thrown === 'string'
    ? `the text ${JSON.stringify(thrown.slice(0, 200))}`
    : `a ${typeOf(thrown)}`;
}

function typeOf(thrown: unknown): string {
  return thrown === null ? 'null' : typeof thrown;
}
