/** Text fields and searching: what people type, and how it is found again. */
import { lineOfText, optionalLineOfText, optionalNoteText } from '@freehold/contracts';
import { z } from 'zod';

/** A line that must be there. */
export const line = (max: number) => lineOfText(max).trim();

/** A line that may be left out. Null clears it; so does an empty text, which is what a form sends. */
export const optionalLine = (max: number) =>
  optionalLineOfText(max)
    .trim()
    .nullable()
    .transform((text) => (text === '' ? null : text));

/** A note that may be left out: its line ends stay. Null clears it; so does a blank text. */
export const optionalNote = (max: number) =>
  optionalNoteText(max)
    .nullable()
    .transform((text) => (text?.trim() === '' ? null : text));

/** The search field of a list. */
export const searchText = z.string().trim().max(100).describe('Finds what contains every one of these words');

/** The form in which text is searched: lower case, without accents, so that "muller" finds "Müller". */
export function fold(...parts: readonly (string | null)[]): string {
  return parts
    .filter((part) => part !== null)
    .join(' ')
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase();
}

/** One LIKE pattern a word, for `LIKE ? ESCAPE '\'` over folded text. */
export function searchPatterns(query: string | undefined): string[] {
  if (query === undefined) return [];
  return fold(query)
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`);
}

/** The members of a partial change that were sent, without those that are undefined. */
export function definedOf<T extends object>(change: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
