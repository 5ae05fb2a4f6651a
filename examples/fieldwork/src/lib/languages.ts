/** The languages that customers are written to. A closed list: what is on it goes into a prompt as it is. */

/** By BCP 47 tag: the name in English, which models are told, and the language's own. */
export const LANGUAGES = {
  ar: ['Arabic', 'العربية'],
  cs: ['Czech', 'Čeština'],
  da: ['Danish', 'Dansk'],
  de: ['German', 'Deutsch'],
  el: ['Greek', 'Ελληνικά'],
  en: ['English', 'English'],
  es: ['Spanish', 'Español'],
  fi: ['Finnish', 'Suomi'],
  fr: ['French', 'Français'],
  hu: ['Hungarian', 'Magyar'],
  it: ['Italian', 'Italiano'],
  nl: ['Dutch', 'Nederlands'],
  no: ['Norwegian', 'Norsk'],
  pl: ['Polish', 'Polski'],
  pt: ['Portuguese', 'Português'],
  ro: ['Romanian', 'Română'],
  ru: ['Russian', 'Русский'],
  sv: ['Swedish', 'Svenska'],
  tr: ['Turkish', 'Türkçe'],
  uk: ['Ukrainian', 'Українська'],
} as const satisfies Readonly<Record<string, readonly [english: string, own: string]>>;

export type LanguageTag = keyof typeof LANGUAGES;
export const LANGUAGE_TAGS = Object.keys(LANGUAGES) as [LanguageTag, ...LanguageTag[]];

/** The language of the pages, and of customers without a recorded language. */
export const APP_LANGUAGE: LanguageTag = 'en';
