/** HTML templates that escape every inserted value, so that a page cannot forget to. */

/** Markup that is safe to send: only {@link html} makes it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type HtmlValue = string | number | false | null | undefined | Html | readonly Html[];

/** A template tag. It escapes strings and numbers for text and quoted attributes; `false` and `null` become empty. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(strings.reduce((text, part, index) => text + render(values[index - 1]) + part));
}

function render(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map((item) => item.text).join('');
  return escapeHtml(String(value));
}

/** NUL is the one character that HTML does not allow in any form. */
function escapeHtml(text: string): string {
  return text
    .replaceAll('\0', '\u{fffd}')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
