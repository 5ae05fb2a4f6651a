/** The texts of the pages by language. */
import { chooseLanguage, type Language } from '@freehold/auth/page-kit';
import { de } from './de.ts';
import { en } from './en.ts';
import type { Texts } from './shape.ts';

export const TEXTS: Readonly<Record<Language, Texts>> = { en, de };

/** The texts for a request, and the tag for `lang`. */
export interface Spoken {
  readonly texts: Texts;
  readonly tag: string;
}

/** In the language that the pages of sign-in have as well. */
export function chooseTexts(declared: string | undefined, acceptLanguage: string | undefined): Spoken {
  const { language, tag } = chooseLanguage(declared, acceptLanguage);
  return { texts: TEXTS[language], tag };
}
