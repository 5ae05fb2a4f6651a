/** The explanation of one kind of mistake in a declaration, as data: Markdown and the pages of freehold dev are made of it. */

/** Sentences are plain text with `code` between backticks. */
export interface MistakePage {
  /** Names the mistake, without a full stop. */
  readonly title: string;
  /** The reason why it is refused. */
  readonly why: string;
  /** The way to repair it. */
  readonly fix: string;
  /** Members of a declaration that make the mistake; all else of the declaration is right. */
  readonly wrong: string;
  /** The message of `wrong`. */
  readonly says: string;
  /** The same members without the mistake. */
  readonly right: string;
}

/** Takes the indentation of the source from an example. */
export function example(text: string): string {
  const lines = text.replace(/^\n/, '').trimEnd().split('\n');
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/));
  const least = Math.min(...indents);
  return lines.map((line) => line.slice(least)).join('\n');
}
