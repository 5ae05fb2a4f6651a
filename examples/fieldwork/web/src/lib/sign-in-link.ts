/**
 * The invite or claim link of this visit. It survives a sign-out, which leads back without it, in the memory of this
 * one tab.
 */

export interface SignInLink {
  readonly kind: 'invite' | 'claim';
  readonly token: string;
}

const KEY = 'fieldwork.door-link';

/** The link in the address, or the remembered one. A member needs no remembered link. */
export function findLink(query: URLSearchParams, { isIn }: { readonly isIn: boolean }): SignInLink | null {
  for (const kind of ['invite', 'claim'] as const) {
    const token = query.get(kind);
    if (token) return { kind, token };
  }
  const remembered = isIn ? null : sessionStorage.getItem(KEY);
  if (remembered === null) return null;
  const [kind, token] = remembered.split(' ');
  return (kind === 'invite' || kind === 'claim') && token ? { kind, token } : null;
}

export function keepLink(link: SignInLink): void {
  sessionStorage.setItem(KEY, `${link.kind} ${link.token}`);
}

export function forgetLink(): void {
  sessionStorage.removeItem(KEY);
}
