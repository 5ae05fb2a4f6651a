/** Which language a reader gets, for the pages of sign-in and those of an application. */
import { de } from './de.ts';
import { en, type Texts } from './en.ts';

const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

const TEXTS: Readonly<Record<Language, Texts>> = { en, de };

/** A language that there are texts in, and the tag for `lang`, which may name a region. */
export interface Chosen {
  readonly language: Language;
  readonly tag: string;
}

/** The declared language where there are texts for it, else the reader's first known one, else English. */
export function chooseLanguage(declared: string | undefined, acceptLanguage: string | undefined): Chosen {
  const own = declared === undefined ? undefined : primaryOf(declared);
  if (declared !== undefined && isLanguage(own)) return { language: own, tag: declared };
  const language = preferred(acceptLanguage ?? '').find(isLanguage) ?? 'en';
  return { language, tag: language };
}

export function textsOf(language: Language): Texts {
  return TEXTS[language];
}

/** The primary languages of an `Accept-Language`, by weight (RFC 9110, 12.5.4). */
function preferred(header: string): (string | undefined)[] {
  return header
    .split(',')
    .map((range) => {
      const [tag = '', ...parameters] = range.trim().split(';');
      const weight = parameters.map((each) => /^\s*q=([\d.]+)\s*$/i.exec(each)?.[1]).find((each) => each);
      return { language: primaryOf(tag), weight: weight === undefined ? 1 : Number(weight) };
    })
    .filter(({ weight }) => weight > 0)
    .sort((left, right) => right.weight - left.weight)
    .map(({ language }) => language);
}

function primaryOf(tag: string): string | undefined {
  return tag.trim().split('-', 1)[0]?.toLowerCase();
}

function isLanguage(tag: string | undefined): tag is Language {
  return LANGUAGES.some((known) => known === tag);
}
