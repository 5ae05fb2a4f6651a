/** The reader of a page, in words, and the way to another account. */
import { type Html, html } from '@freehold/auth/page-kit';
import type { Exchange } from './exchange.ts';

/** "Ada Lovelace (ada@example.org)" */
export function personNow({ me, t }: Exchange): string {
  const { name, email } = me.subject ?? { name: null, email: null };
  if (name === null) return email ?? t.frame.unnamed;
  return email === null ? name : `${name} (${email})`;
}

/** Another account, for a person who is signed in with the wrong one; they come back to `path`. */
export function otherAccount({ me, t }: Exchange, path: string): Html {
  const mode = me.signIn?.mode;
  if (mode === 'tokens') return html``;
  const back = encodeURIComponent(path);
  const url =
    mode === 'directory' ? `/api/auth/logout?returnTo=${back}` : `/api/auth/login?switch&returnTo=${back}`;
  return html`<p class="actions"><a class="button plain" href="${url}">${t.front.anotherAccount}</a></p>`;
}
