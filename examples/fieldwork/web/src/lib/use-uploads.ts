/** Sending files one after the other, each with its progress; what failed stays to be told and tried again. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, upload } from './api.ts';
import { formatBytes } from './format.ts';
import { toApiError } from './use-load.ts';

export interface Upload {
  readonly key: number;
  readonly file: File;
  /** The sent part, from 0 to 1. */
  readonly fraction: number;
  /** Null while it waits or is under way. */
  readonly error: ApiError | null;
}

export interface Uploads {
  readonly items: readonly Upload[];
  readonly add: (files: readonly File[]) => void;
  readonly retry: (key: number) => void;
  /** Calls one off, or forgets that it failed. */
  readonly drop: (key: number) => void;
}

/** @param onSent told of each file that arrived. */
export function useUploads(
  address: string,
  { bytesMax, onSent }: { readonly bytesMax: number; readonly onSent: (file: File) => void },
): Uploads {
  const [items, setItems] = useState<readonly Upload[]>([]);
  const nextKey = useRef(0);
  const line = useRef<Promise<void>>(Promise.resolve());
  const controllers = useRef(new Map<number, AbortController>());
  const latest = useRef({ address, bytesMax, onSent });
  latest.current = { address, bytesMax, onSent };

  // Leaving the page cancels running uploads.
  useEffect(() => {
    const running = controllers.current;
    return () => {
      for (const controller of running.values()) controller.abort();
    };
  }, []);

  const change = useCallback((key: number, what: Partial<Upload>) => {
    setItems((before) => before.map((each) => (each.key === key ? { ...each, ...what } : each)));
  }, []);
  const forget = useCallback((key: number) => {
    setItems((before) => before.filter((each) => each.key !== key));
  }, []);

  const enqueue = useCallback(
    (key: number, file: File) => {
      const controller = new AbortController();
      controllers.current.set(key, controller);
      line.current = line.current.then(async () => {
        const { signal } = controller;
        if (signal.aborted) return;
        try {
          requireSize(file, latest.current.bytesMax);
          await upload(latest.current.address, file, {
            signal,
            onProgress: (fraction) => change(key, { fraction }),
          });
          forget(key);
          latest.current.onSent(file);
        } catch (failure) {
          if (!signal.aborted) change(key, { error: toApiError(failure) });
        } finally {
          controllers.current.delete(key);
        }
      });
    },
    [change, forget],
  );

  const add = useCallback(
    (files: readonly File[]) => {
      for (const file of files) {
        nextKey.current += 1;
        const key = nextKey.current;
        setItems((before) => [...before, { key, file, fraction: 0, error: null }]);
        enqueue(key, file);
      }
    },
    [enqueue],
  );
  const retry = (key: number) => {
    const item = items.find((each) => each.key === key);
    if (!item) return;
    change(key, { fraction: 0, error: null });
    enqueue(key, item.file);
  };
  const drop = (key: number) => {
    controllers.current.get(key)?.abort();
    forget(key);
  };
  return { items, add, retry, drop };
}

/** Said before anything is sent: a server that refuses in the middle is heard by no browser. */
function requireSize(file: File, bytesMax: number): void {
  if (file.size <= bytesMax) return;
  throw new ApiError(413, {
    code: 'payload_too_large',
    detail: `This file has ${formatBytes(file.size)}; at most ${formatBytes(bytesMax)} can be attached.`,
  });
}
