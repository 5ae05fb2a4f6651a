/** HTML that escapes what is put into it, so that a page cannot forget to. */

/** Markup that is safe to send, because {@link html} made it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A template tag: strings are escaped for text and for quoted attributes, markup is not. */
export function html(
  strings: TemplateStringsArray,
  ...values: readonly (string | Html | readonly Html[])[]
): Html {
  return new Html(strings.reduce((text, part, index) => text + render(values[index - 1] ?? '') + part));
}

function render(value: string | Html | readonly Html[]): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map((item) => item.text).join('');
  return value
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
