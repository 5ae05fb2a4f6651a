/**
 * Removes contacts from a text: the known ones of the customer, and everything that looks like an address or a number.
 * It rather removes too much: the text goes to a provider outside of the platform.
 */

/** The known contacts of a customer and the place of the work; null for unknown ones. */
export interface Contacts {
  readonly names: readonly (string | null)[];
  readonly places: readonly (string | null)[];
}

/** Shorter words are too common to identify a person. */
const WORD_LENGTH_MIN = 4;

/** Answers the function that takes them out of a text. */
export function makeWithoutContacts({ names, places }: Contacts): (text: string) => string {
  const taken = [
    [/[^\s@<>()]+@[^\s@<>()]+\.[^\s@<>()]+/gu, '[e-mail]'],
    // Seven digits and more, however they are grouped.
    [/\+?\d(?:[\s()/.-]*\d){6,}/g, '[number]'],
    ...patternsOf(names, '[customer]'),
    ...patternsOf(places, '[address]'),
  ] as const;
  return (text) => taken.reduce((rest, [pattern, word]) => rest.replace(pattern, word), text);
}

/** The whole of each, and its longer words: people write "Mrs Müller" of whom the card calls "Erika Müller". */
function patternsOf(known: readonly (string | null)[], word: string): [RegExp, string][] {
  const texts = known.flatMap((each) => (each === null ? [] : [each.trim()]));
  const words = texts.flatMap((text) => text.match(/[\p{L}\p{N}]+/gu) ?? []);
  return [...texts, ...words.filter((each) => each.length >= WORD_LENGTH_MIN)]
    .filter((text) => text !== '')
    .sort((a, b) => b.length - a.length)
    .map((text) => [
      new RegExp(
        `(?<![\\p{L}\\p{N}])${text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')}(?![\\p{L}\\p{N}])`,
        'giu',
      ),
      word,
    ]);
}
