/** Waiting for something, and not for longer than it is worth. */

/** Resolves with the promise's value, or with undefined once the time is over. Rejects as the promise does until then. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
