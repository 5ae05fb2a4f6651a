/** Refusals of the tools, with texts for people. */
import { PlatformError } from '@freehold/contracts';

/** The refusal of a tool that a Durable Object cannot provide. */
export function engineCannot(what: string): PlatformError {
  return new PlatformError('unsupported', `${what} This engine cannot do that.`, { reason: 'engine_cannot' });
}

/** The refusal of copies and inspection for a unit with `copies: 'none'`. */
export function unitHasNoCopies(kind: string): PlatformError {
  return new PlatformError('unsupported', `A unit of kind ${kind} has no copies and cannot be inspected.`, {
    reason: 'unit_has_no_copies',
  });
}

/** The copy does not match its own description. */
export function copyDamaged(why: string, cause?: unknown): PlatformError {
  return copyRefused('copy_damaged', `This copy is damaged: ${why}. Nothing was changed.`, cause);
}

/** The copy is complete, and of another unit. */
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
