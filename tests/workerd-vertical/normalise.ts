/** Makes answers comparable that were given in different places at different times. */

/** Texts that differ between two runs, with their replacements. */
const DIFFERENCES: readonly (readonly [RegExp, string])[] = [
  [/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>'],
  [/\.localhost:\d+/g, '.localhost'],
  // Sealed text, whole or quoted.
  [/\bv1\.[\w-]{16}\.[\w-]+/g, '<sealed>'],
  // Tokens in links.
  [/\?(claim|invite)=[\w-]+/g, '?$1=<token>'],
];
const REQUEST_ID = /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/g;
const ID = /\b[a-z]{3}_[0-9a-z]{26}\b/g;
/** Milliseconds since the epoch, from 2017 to 2033. */
const [RECENT_MS, SOON_MS] = [1_500_000_000_000, 2_000_000_000_000];
/** Members whose values differ in each run. */
const INCIDENTAL: ReadonlySet<string> = new Set(['durationMs', 'keyDigest']);

/**
 * Makes a function that replaces ids by their kind and order of appearance, and times, secrets and ports by
 * placeholders. One function serves all answers of one place.
 */
export function makeNormaliser(): (answer: unknown) => unknown {
  const names = new Map<string, string>();
  const nameOf = (id: string): string => {
    const name = names.get(id) ?? `${id.slice(0, 3)}#${names.size + 1}`;
    names.set(id, name);
    return name;
  };
  const normaliseText = (text: string): string =>
    DIFFERENCES.reduce((found, [difference, instead]) => found.replaceAll(difference, instead), text)
      .replaceAll(REQUEST_ID, '<request>')
      .replaceAll(ID, nameOf);

  const normalise = (value: unknown): unknown => {
    if (typeof value === 'string') return normaliseText(value);
    if (typeof value === 'number') return value > RECENT_MS && value < SOON_MS ? '<ms>' : value;
    if (Array.isArray(value)) return value.map(normalise);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [
        normaliseText(key),
        INCIDENTAL.has(key) && each !== null ? `<${key}>` : normalise(each),
      ]),
    );
  };
  return normalise;
}
