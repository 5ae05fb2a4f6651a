/** The router of the page: the path and the query of the address bar, and navigation without a reload. */
import { useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener('popstate', listener);
  return () => {
    listeners.delete(listener);
    removeEventListener('popstate', listener);
  };
}

const currentAddress = (): string => `${location.pathname}${location.search}`;

/** The address, as `{ path, query }`; the component renders again when it changes. */
export function useAddress(): { readonly path: string; readonly query: URLSearchParams } {
  const address = useSyncExternalStore(subscribe, currentAddress);
  const url = new URL(address, location.origin);
  return { path: url.pathname, query: url.searchParams };
}

/** Goes to an address of this application. `replace` leaves no step to go back to. */
export function goTo(address: string, how: 'push' | 'replace' = 'push'): void {
  if (address === currentAddress()) return;
  if (how === 'push') history.pushState(null, '', address);
  else history.replaceState(null, '', address);
  for (const listener of listeners) listener();
  if (how === 'push') scrollTo(0, 0);
}

/** The present address with some query fields changed; an empty value leaves one out. */
export function withQuery(changes: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return text === '' ? location.pathname : `${location.pathname}?${text}`;
}

/** The parameters of a path that fits a pattern (`/orders/:order`), or null. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const wanted = pattern.split('/');
  const given = path.replace(/\/$/, '').split('/');
  if (wanted.length !== given.length) return null;
  const found: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const text = given[index] ?? '';
    if (!part.startsWith(':')) {
      if (part !== text) return null;
      continue;
    }
    const value = decoded(text);
    if (value === null) return null;
    found[part.slice(1)] = value;
  }
  return found;
}

/** The text, or null when it is invalid: any text can be typed into the address bar. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
