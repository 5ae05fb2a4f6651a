/** HTML templates that escape every inserted value, so that a page cannot forget to. */

/** Markup that is safe to send: made by {@link html}, or declared safe with {@link trustedHtml}. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type HtmlValue = string | number | false | undefined | Html | readonly Html[];

/** A template tag. It escapes strings and numbers for text and quoted attributes; `false` becomes empty. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(strings.reduce((text, part, index) => text + render(values[index - 1]) + part));
}

/** Markup from a source that already escapes, such as oidc-provider's own forms. */
export function trustedHtml(text: string): Html {
  return new Html(text);
}

function render(value: HtmlValue): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map((item) => item.text).join('');
  return escapeHtml(String(value));
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
