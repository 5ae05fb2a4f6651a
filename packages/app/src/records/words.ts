/** The words of a search: what people type finds the records with words that begin so, in whatever script and case. */

/** Each word is stored to this length; a longer one is found by its beginning. */
const WORD_LENGTH_MAX = 32;
/** The words that are stored of one record. */
const WORDS_MAX = 64;
/** The words of one search; further ones narrow it no more. */
const SEARCH_WORDS_MAX = 8;

/** Returns the different words of some texts, in lower case and without accents. */
export function wordsOf(texts: readonly (string | null)[], max = WORDS_MAX): string[] {
  const words = new Set<string>();
  for (const text of texts)
    for (const [word] of plain(text ?? '').matchAll(/[\p{L}\p{N}]+/gu)) {
      if (words.size === max) return [...words];
      words.add([...word].slice(0, WORD_LENGTH_MAX).join(''));
    }
  return [...words];
}

/** Returns the words that are searched for, the longest first: it finds the fewest records. */
export function searchedWords(text: string): string[] {
  return wordsOf([text], SEARCH_WORDS_MAX).sort((a, b) => b.length - a.length);
}

/** Returns the end of the words that begin so: the first text that sorts after all of them. */
export function endOfPrefix(word: string): string {
  return `${word}\u{10ffff}`;
}

function plain(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
}
