/** Doing something once: busy while it runs, the error of the last attempt, and one idempotency key for each press. */
import { useCallback, useRef, useState } from 'react';
import { type ApiError, newIdempotencyKey } from './api.ts';
import { toApiError } from './use-load.ts';

export interface Action {
  readonly busy: boolean;
  readonly error: ApiError | null;
  readonly clear: () => void;
  /** Runs the work unless it runs already. Answers whether it succeeded. */
  readonly run: (work: (idempotencyKey: string) => Promise<void>) => Promise<boolean>;
}

export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const running = useRef(false);
  const key = useRef<string | null>(null);

  const run = useCallback(async (work: (idempotencyKey: string) => Promise<void>) => {
    if (running.current) return false;
    running.current = true;
    setBusy(true);
    setError(null);
    key.current ??= newIdempotencyKey();
    try {
      await work(key.current);
      key.current = null;
      return true;
    } catch (failure) {
      const shown = toApiError(failure);
      // When no answer came, the work may have been done: the next attempt must be the same call.
      if (shown.code !== 'unreachable') key.current = null;
      setError(shown);
      return false;
    } finally {
      running.current = false;
      setBusy(false);
    }
  }, []);

  const clear = useCallback(() => setError(null), []);
  return { busy, error, clear, run };
}
