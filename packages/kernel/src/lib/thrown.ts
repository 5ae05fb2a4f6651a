/** What a handler threw, made safe to handle: anything at all can be thrown, and it must cost only its own call. */
import { type Failure, fromFailure, PlatformError, PROBLEMS, toFailure } from '@freehold/contracts';
import { plainValue, RollbackThen, TransactionLost } from '@freehold/store';

/**
 * An error that can be asked for its class, code and text without throwing. A `PlatformError` keeps what its caller
 * is told; another error stays itself; a null, a text, a proxy that objects, an error with throwing getters becomes
 * a TypeError that names the operation.
 */
export function soundError(operation: string, thrown: unknown): Error {
  try {
    if (thrown instanceof TransactionLost) return thrown;
    if (thrown instanceof PlatformError) {
      const failure = plainValue(toFailure(thrown)) as Failure;
      if (Object.hasOwn(PROBLEMS, failure.code)) return fromFailure(failure);
      return new TypeError(`operation ${operation} failed with a code that is not on the list`);
    }
    // Rolling back and writing something else is the kernel's own way to refuse; a handler has no such way.
    const isError = thrown instanceof Error && !(thrown instanceof RollbackThen);
    if (isError && typeof thrown.message === 'string' && typeof (thrown.stack ?? '') === 'string')
      return thrown;
  } catch {
    // It objected to being looked at.
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
