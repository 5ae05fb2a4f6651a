/** Which language a reader gets. */
import { de } from './de.ts';
import { en } from './en.ts';
import type { Language, Texts } from './shape.ts';

export const TEXTS: Readonly<Record<Language, Texts>> = { en, de };

/** The texts for a request, and the tag for `lang`. */
export interface Spoken {
  readonly texts: Texts;
  readonly tag: string;
}

/** The declared language where there are texts for it, else the reader's first known one, else English. */
export function chooseLanguage(declared: string | undefined, acceptLanguage: string | undefined): Spoken {
  const own = declared === undefined ? undefined : primaryOf(declared);
  if (declared !== undefined && isLanguage(own)) return { texts: TEXTS[own], tag: declared };
  const tag = preferred(acceptLanguage ?? '').find(isLanguage) ?? 'en';
  return { texts: TEXTS[tag], tag };
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
  return tag !== undefined && Object.hasOwn(TEXTS, tag);
}
