/** Failures of the file system. */
import { getSystemErrorMessage } from 'node:util';
import { DevError } from './dev-error.ts';

export type SystemError = NodeJS.ErrnoException & { readonly code: string; readonly errno: number };

export function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && 'code' in error && 'errno' in error && typeof error.errno === 'number';
}

/** Something that cannot be written on this machine. */
export function fileFailure(what: string, cause: SystemError): DevError {
  const why = `${getSystemErrorMessage(cause.errno)} (${cause.code})`;
  return new DevError('unavailable', `${what}: ${why}.`, { reason: 'cannot_write', cause });
}
