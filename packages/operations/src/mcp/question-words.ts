/** A call in words, for the person who is asked whether it should be made. */

/** The number of items of a list that are shown by themselves. */
const ITEMS_MAX = 5;
/** The lines that are shown. */
const LINES_MAX = 40;
/** The characters of one text that are shown. */
const TEXT_MAX = 200;

/** Characters without a shape of their own, or that turn the text around them: a name must not change what is beside it. */
const SHAPELESS = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]+/gu;

/** Returns the question: the operation, then one line for each fact, by its path (`counts scopes: 2`). */
export function questionWords(
  { summary, name }: { readonly summary: string; readonly name: string },
  facts: object,
): string {
  const lines = linesOf(facts, []);
  const shown = lines.slice(0, LINES_MAX);
  const rest = lines.length > shown.length ? [`and ${lines.length - shown.length} more lines`] : [];
  return [`${summary} (${name})?`, '', ...shown, ...rest].join('\n').trimEnd();
}

function linesOf(value: object, path: readonly string[]): string[] {
  return Object.entries(value).flatMap(([key, each]: [string, unknown]) => {
    const at = [...path, inWords(key)];
    const isPart = typeof each === 'object' && each !== null && !Array.isArray(each);
    return isPart ? linesOf(each, at) : [`${at.join(' ')}: ${wordsOf(each)}`];
  });
}

/** `pushTokens` as `push tokens`. */
function inWords(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function wordsOf(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return listOf(value);
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  const plain = text.replace(SHAPELESS, ' ');
  return plain.length <= TEXT_MAX ? plain : `${plain.slice(0, TEXT_MAX)}…`;
}

function listOf(items: readonly unknown[]): string {
  if (items.length === 0) return 'none';
  const shown = items.slice(0, ITEMS_MAX).map(wordsOf);
  const more = items.length > shown.length ? ` and ${items.length - shown.length} more` : '';
  return `${shown.join(', ')}${more}`;
}
