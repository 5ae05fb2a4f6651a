/** HTML as text: every value is escaped where it is inserted. */

/** Markup that is safe to insert. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Inserted = Html | string | number | null | readonly (Html | null)[];

/** A template whose values are escaped, unless they are markup themselves; null is nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Inserted[]): Html {
  let text = parts[0] as string;
  for (const [index, value] of values.entries()) text += inserted(value) + parts[index + 1];
  return new Html(text);
}

function inserted(value: Inserted): string {
  if (value === null) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map((each) => each?.text ?? '').join('');
  return escaped(String(value));
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`);
}

/** A description as paragraphs, with its `code` marked. Other Markdown is shown as it is written. */
export function prose(text: string | undefined): Html | null {
  if (text === undefined || text === '') return null;
  return new Html(
    text
      .split(/\n{2,}/)
      .map((paragraph) => `<p>${marked(paragraph)}</p>`)
      .join(''),
  );
}

/** One line, with its `code` marked. */
export function line(text: string): Html {
  return new Html(marked(text));
}

function marked(text: string): string {
  return escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
