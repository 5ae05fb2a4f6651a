/** The language of the page, which the server chose, and the reader's choice of another one. */
import type { Texts } from '../texts/en.ts';
import type { Spoken } from './values.ts';

/** The languages that there are texts in, by their own names. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof LANGUAGES;

/** As the document says it. */
const tag = typeof document === 'undefined' ? 'en' : document.documentElement.lang || 'en';
export const language: Language = tag.startsWith('de') ? 'de' : 'en';
/** For numbers and dates: the page's language as it is written where the reader's browser is from, such as `en-GB`. */
export const locale: string =
  navigator.languages?.find((each) => tag === language && each.split('-', 1)[0] === language) ?? tag;
/** The texts in the page's language; those in the others are not fetched. */
export const t: Texts =
  language === 'de' ? (await import('../texts/de.ts')).de : (await import('../texts/en.ts')).en;
export const spoken: Spoken = { locale, t };

const ONE_YEAR_S = 31_536_000;

/** Keeps the choice in a cookie, which the server reads, and loads the page in that language. */
export function chooseLanguage(chosen: Language): void {
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser.
  document.cookie = `language=${chosen}; Path=/; Max-Age=${ONE_YEAR_S}; SameSite=Lax${secure}`;
  location.reload();
}
