/**
 * The invite or claim link that somebody came with. It is kept over a sign-out, which leads back without it, in
 * the memory of this one tab.
 */

export interface SignInLink {
  readonly kind: 'invite' | 'claim';
  readonly token: string;
}

const KEY = 'fieldwork.door-link';

/** The link in the address, or the one that was kept. Who is in has no use for one that was kept. */
export function findLink(query: URLSearchParams, { isIn }: { readonly isIn: boolean }): SignInLink | null {
  for (const kind of ['invite', 'claim'] as const) {
    const token = query.get(kind);
    if (token) return { kind, token };
  }
  const kept = isIn ? null : sessionStorage.getItem(KEY);
  if (kept === null) return null;
  const [kind, token] = kept.split(' ');
  return (kind === 'invite' || kind === 'claim') && token ? { kind, token } : null;
}

export function keepLink(link: SignInLink): void {
  sessionStorage.setItem(KEY, `${link.kind} ${link.token}`);
}

export function forgetLink(): void {
  sessionStorage.removeItem(KEY);
}
