/** JSON of an answer, which may be anything. */

/** The value, or undefined, which no declared form accepts. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
