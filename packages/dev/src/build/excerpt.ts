/** The lines around a place, for a terminal and a page. */

/** The line of a place with one above and one below, numbered from `first`, and a mark below its column. */
export function excerptOf(
  lines: readonly string[],
  { line, column }: { readonly line: number; readonly column: number },
  first: number,
): string {
  const from = Math.max(0, line - 2);
  const shown = lines.slice(from, line + 1);
  const width = String(first + from + shown.length - 1).length;
  return shown
    .flatMap((text, index) => {
      const number = first + from + index;
      const numbered = `${String(number).padStart(width)} | ${text}`;
      return number === first + line - 1
        ? [numbered, `${' '.repeat(width)} | ${' '.repeat(Math.max(0, column - 1))}^`]
        : [numbered];
    })
    .join('\n');
}
