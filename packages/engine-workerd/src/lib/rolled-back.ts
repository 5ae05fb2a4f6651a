/** Work in a transaction that is always rolled back. */

/** Carries a value out of the transaction that it undoes. */
class RolledBack extends Error {
  override readonly name = 'RolledBack';
  readonly value: unknown;

  constructor(value: unknown) {
    super('rolled back');
    this.value = value;
  }
}

/** Runs work in a transaction that is rolled back, and returns its value. */
export function rolledBack<T>(storage: Pick<DurableObjectStorage, 'transactionSync'>, work: () => T): T {
  try {
    storage.transactionSync(() => {
      throw new RolledBack(work());
    });
  } catch (error) {
    if (error instanceof RolledBack) return error.value as T;
    throw error;
  }
  throw new Error('a transaction that throws was committed');
}

/** The same for work that pauses. No other work of the object may write meanwhile. */
export async function rolledBackLater<T>(
  storage: Pick<DurableObjectStorage, 'transaction'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    await storage.transaction(async () => {
      throw new RolledBack(await work());
    });
  } catch (error) {
    if (error instanceof RolledBack) return error.value as T;
    throw error;
  }
  throw new Error('a transaction that throws was committed');
}
