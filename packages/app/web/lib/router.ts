/** Addresses of pages without a load: links, the way back, and a question before what was typed is lost. */
import { useSyncExternalStore } from 'react';
import { t } from './language.ts';

const MOVED = 'freehold:moved';
/** Whether a form holds what is not saved. */
let isUnsaved = false;
/** The address that is shown, to stay there when the reader does not leave. */
let shown = typeof location === 'undefined' ? '/' : location.pathname + location.search;

function subscribe(listener: () => void): () => void {
  const onPop = () => {
    if (!mayLeave()) {
      history.pushState(null, '', shown);
      return;
    }
    shown = location.pathname + location.search;
    listener();
  };
  window.addEventListener('popstate', onPop);
  window.addEventListener(MOVED, listener);
  return () => {
    window.removeEventListener('popstate', onPop);
    window.removeEventListener(MOVED, listener);
  };
}

export interface Place {
  readonly path: string;
  readonly search: string;
}

export function usePlace(): Place {
  return placeOf(useSyncExternalStore(subscribe, () => shown));
}

/** The path of the page that is shown, or is about to be. */
export function presentPath(): string {
  return placeOf(shown).path;
}

function placeOf(address: string): Place {
  const at = address.indexOf('?');
  return at < 0 ? { path: address, search: '' } : { path: address.slice(0, at), search: address.slice(at) };
}

/** Goes to an address of these pages. With `replace` it takes the place of the present one in the history. */
export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (to === shown || !mayLeave()) return;
  if (replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  // Each page begins at its top; on the way back the browser knows the place.
  if (placeOf(to).path !== placeOf(shown).path) window.scrollTo(0, 0);
  shown = to;
  window.dispatchEvent(new Event(MOVED));
}

/** Says whether the page holds what is not saved. */
export function setUnsaved(is: boolean): void {
  isUnsaved = is;
}

function mayLeave(): boolean {
  if (isUnsaved && !confirm(t.unsaved)) return false;
  isUnsaved = false;
  return true;
}

if (typeof window !== 'undefined')
  window.addEventListener('beforeunload', (event) => {
    if (isUnsaved) event.preventDefault();
  });
