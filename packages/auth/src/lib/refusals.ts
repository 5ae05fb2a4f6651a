/** Refusals of a caller, in one line each. */
import { PlatformError } from '@freehold/contracts';

type Code = ConstructorParameters<typeof PlatformError>[0];

/** Returns the refusal with a code, a reason and a sentence for the caller. */
export function refusal(code: Code, reason: string, message: string): PlatformError {
  return new PlatformError(code, message, { reason });
}

/** Returns `validation_failed` for one field. @param demand the rest of "<path> …", such as "must be base32". */
export function invalid(path: string, demand: string, message: string): PlatformError {
  return new PlatformError('validation_failed', message, { errors: [{ path, message: demand }] });
}
