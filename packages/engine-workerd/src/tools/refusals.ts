/** What the tools refuse, in words for people. */
import { PlatformError } from '@freehold/contracts';

/** A Durable Object has no such thing. */
export function engineCannot(what: string): PlatformError {
  return new PlatformError('unsupported', `${what} This engine cannot do that.`, { reason: 'engine_cannot' });
}

/** Nothing of such a unit may be kept beside it, or be looked at. */
export function unitHasNoCopies(kind: string): PlatformError {
  return new PlatformError('unsupported', `Nothing of a ${kind} is kept beside it or shown.`, {
    reason: 'unit_has_no_copies',
  });
}

/** The copy is not what it says it is. */
export function copyDamaged(why: string, cause?: unknown): PlatformError {
  return copyRefused('copy_damaged', `This copy is damaged: ${why}. Nothing was changed.`, cause);
}

/** The copy is whole, and of something else. */
export function copyForeign(why: string, cause?: unknown): PlatformError {
  return copyRefused(
    'copy_foreign',
    `This copy is not one of this unit: ${why}. Nothing was changed.`,
    cause,
  );
}

function copyRefused(
  reason: 'copy_damaged' | 'copy_foreign',
  message: string,
  cause: unknown,
): PlatformError {
  return new PlatformError('validation_failed', message, {
    reason,
    ...(cause === undefined ? {} : { cause }),
  });
}
