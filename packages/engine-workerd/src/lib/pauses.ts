/** Pauses of long work, in which the process answers for its other objects. */

/** Number of bytes that are read or written between two pauses: some tens of milliseconds. */
export const PAUSE_BYTES = 2 * 1_024 * 1_024;

export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
