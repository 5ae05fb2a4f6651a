/** Loading of answers, and single keys as shortcuts. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { ask, asRefusal, type Refusal } from './api.ts';

export interface Loaded<T> {
  /** The last answer, also while the next one is loaded; null at first. */
  readonly value: T | null;
  readonly refusal: Refusal | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/**
 * Loads what is at an address, and again when it changes. An answer that was overtaken is dropped.
 * @param load Default: asks the API for it.
 */
export function useLoad<T>(
  address: string,
  load: (address: string, signal: AbortSignal) => Promise<T> = getValue<T>,
): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({
    value: null,
    refusal: null,
    isLoading: true,
  });
  const latest = useRef(load);
  latest.current = load;
  const stop = useRef<AbortController>(undefined);
  const reload = useCallback(() => {
    stop.current?.abort();
    stop.current = new AbortController();
    const { signal } = stop.current;
    setState((before) => ({ ...before, isLoading: true }));
    latest.current(address, signal).then(
      (value) => !signal.aborted && setState({ value, refusal: null, isLoading: false }),
      (error: unknown) =>
        !signal.aborted && setState({ value: null, refusal: asRefusal(error), isLoading: false }),
    );
  }, [address]);
  useEffect(() => {
    reload();
    return () => stop.current?.abort();
  }, [reload]);
  return { ...state, reload };
}

async function getValue<T>(address: string, signal: AbortSignal): Promise<T> {
  return (await ask<T>(address, { signal })).value;
}

const SHORTCUTS_OFF = 'shortcuts-off';

/** Single keys can be switched off (WCAG 2.2, 2.1.4): speech input types them. */
export const shortcuts = {
  areOn: (): boolean => localStorage.getItem(SHORTCUTS_OFF) === null,
  set: (on: boolean): void => {
    if (on) localStorage.removeItem(SHORTCUTS_OFF);
    else localStorage.setItem(SHORTCUTS_OFF, '1');
  },
};

/** Runs an action at a single key, unless it is typed into a field, a dialog is open, or shortcuts are off. */
export function useKeys(actions: Readonly<Record<string, (() => void) | undefined>>): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target as HTMLElement;
      if (target.closest('input:not([type=checkbox]), textarea, select, dialog, [contenteditable]')) return;
      if (document.querySelector('dialog[open]') || !shortcuts.areOn()) return;
      const action = latest.current[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
}

/** A text in the browser's own storage, under a name; null for none. */
export function useStored(name: string): readonly [string | null, (value: string) => void] {
  const [value, setValue] = useState(() => localStorage.getItem(name));
  return [
    value,
    (next) => {
      localStorage.setItem(name, next);
      setValue(next);
    },
  ];
}
