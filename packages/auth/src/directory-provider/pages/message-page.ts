/** A page that only says something. */
import { authUrl } from './paths.ts';
import { html } from './html.ts';
import type { PageContent } from './layout.ts';

export interface Message {
  readonly heading: string;
  readonly sentences: readonly string[];
  readonly failed?: boolean;
  /** One of our addresses to go on to. Default: signing in. */
  readonly next?: { readonly label: string; readonly url: string };
}

export function messagePage({ heading, sentences, failed = false, next }: Message): PageContent {
  const { label, url } = next ?? { label: 'Sign in', url: authUrl('login') };
  return {
    heading,
    failed,
    body: html`${sentences.map((sentence) => html`<p>${sentence}</p>`)}
<p class="actions"><a class="button plain" href="${url}">${label}</a></p>`,
  };
}
