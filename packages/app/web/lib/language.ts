/** The language of the page, which the server chose, and the reader's choice of another one. */
import { de } from '../texts/de.ts';
import { en, type Texts } from '../texts/en.ts';

export const TEXTS: Readonly<Record<'en' | 'de', Texts>> = { en, de };
export type Language = keyof typeof TEXTS;

/** As the document says it. */
const tag = typeof document === 'undefined' ? 'en' : document.documentElement.lang || 'en';
export const language: Language = tag.startsWith('de') ? 'de' : 'en';
/** For numbers and dates: the page's language as it is written where the reader's browser is from, such as `en-GB`. */
export const locale: string =
  navigator.languages?.find((each) => tag === language && each.split('-', 1)[0] === language) ?? tag;
export const t: Texts = TEXTS[language];

const ONE_YEAR_S = 31_536_000;

/** Keeps the choice in a cookie, which the server reads, and loads the page in that language. */
export function chooseLanguage(chosen: Language): void {
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser.
  document.cookie = `language=${chosen}; Path=/; Max-Age=${ONE_YEAR_S}; SameSite=Lax${secure}`;
  location.reload();
}
