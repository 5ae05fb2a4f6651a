/** Loading what a page shows: at once from memory when it was seen before, and always fresh a moment later. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError } from './api.ts';

/** The last value of each key; it lives as long as the page. */
const seen = new Map<string, unknown>();

export interface Loaded<T> {
  readonly data: T | undefined;
  readonly error: ApiError | null;
  readonly loading: boolean;
  /** Loads again, and shows the last value meanwhile. */
  readonly reload: () => void;
  /** Shows this from now on: the answer of a change is newer than anything that was loaded. */
  readonly put: (data: T) => void;
}

/** Forgets everything, for instance when another person signs in. */
export function forgetAll(): void {
  seen.clear();
}

/**
 * Loads under a key; a change of the key loads anew. `null` loads nothing.
 * Comes back to the page (from another tab) with fresh data.
 */
export function useLoad<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{
    key: string | null;
    data: T | undefined;
    error: ApiError | null;
    loading: boolean;
  }>(() => start<T>(key));
  const [round, setRound] = useState(0);
  const loader = useRef(load);
  loader.current = load;

  useEffect(() => {
    if (key === null) {
      setState(start<T>(null));
      return undefined;
    }
    const controller = new AbortController();
    setState((before) => (before.key === key ? { ...before, loading: true } : start<T>(key)));
    // `round` is the occasion of a repeated load, and says nothing else.
    void round;
    loader.current(controller.signal).then(
      (data) => {
        if (controller.signal.aborted) return;
        seen.set(key, data);
        setState({ key, data, error: null, loading: false });
      },
      (failure: unknown) => {
        if (controller.signal.aborted) return;
        setState((before) => ({ ...before, key, error: toApiError(failure), loading: false }));
      },
    );
    return () => controller.abort();
  }, [key, round]);

  const reload = useCallback(() => setRound((before) => before + 1), []);
  useEffect(() => {
    const onReturn = () => document.visibilityState === 'visible' && reload();
    document.addEventListener('visibilitychange', onReturn);
    return () => document.removeEventListener('visibilitychange', onReturn);
  }, [reload]);

  const put = useCallback(
    (data: T) => {
      if (key !== null) seen.set(key, data);
      setState({ key, data, error: null, loading: false });
    },
    [key],
  );
  // Between a change of the key and its effect, what is in the state belongs to the old key.
  const shown = state.key === key ? state : start<T>(key);
  return { data: shown.data, error: shown.error, loading: shown.loading, reload, put };
}

function start<T>(key: string | null) {
  return {
    key,
    data: key === null ? undefined : (seen.get(key) as T | undefined),
    error: null,
    loading: key !== null,
  };
}

/** Any thrown value, as an error with a message. */
export function toApiError(failure: unknown): ApiError {
  if (failure instanceof ApiError) return failure;
  return new ApiError(0, { code: 'internal', detail: 'Something went wrong in this page. Load it again.' });
}
