/**
 * The plain pages for staff on the control plane's own host: constant texts, everything else escaped, and no script.
 */
import { createHash } from 'node:crypto';

const STYLE =
  ':root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}' +
  'body{max-width:36rem;margin:12vh auto;padding:0 1.5rem}' +
  'h1{font-size:1.5rem;line-height:1.25}code{font-size:1.05em}small{opacity:.8}' +
  'form{display:flex;gap:.75rem;flex-wrap:wrap;align-items:end;margin:1.5rem 0}' +
  'button{font:inherit;padding:.5rem 1.25rem;border-radius:.4rem;border:1px solid;cursor:pointer}' +
  'input:not([type]){font:inherit;padding:.5rem;text-transform:uppercase;letter-spacing:.1em;width:12ch}' +
  'textarea{font:inherit;padding:.5rem;width:100%;box-sizing:border-box}' +
  'label{display:grid;gap:.25rem}dt{opacity:.8}dd{margin:0 0 .75rem}' +
  'fieldset{flex-basis:100%;border:1px solid;border-radius:.4rem;padding:.5rem 1rem}' +
  '.check{display:flex;gap:.6rem;align-items:baseline;padding:.3rem 0}.nested{margin-left:1.75rem}' +
  'section{border-top:1px solid;padding-top:.25rem}h2{font-size:1.2rem}h3{font-size:1rem}dd{overflow-wrap:anywhere}';
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** Text that is HTML already. Made by {@link html} alone. */
export interface Html {
  readonly html: string;
}

/** HTML in which every value is escaped, unless it is HTML itself. */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly (string | Html | readonly Html[])[]
): Html {
  const text = parts.map((part, index) => part + (index < values.length ? shown(values[index] ?? '') : ''));
  return { html: text.join('') };
}

function shown(value: string | Html | readonly Html[]): string {
  if (typeof value === 'string') return value.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
  return 'html' in value ? value.html : value.map((each) => each.html).join('');
}

export interface Page {
  readonly title: string;
  readonly body: Html;
  /** Default: 200. */
  readonly status?: number;
  /**
   * Sources of a content security policy to which forms may lead beside this host, redirects included. Default: none.
   */
  readonly formTargets?: string;
}

/** A page that cannot be framed, is not stored, and sends no Referer. */
export function pageResponse({ title, body, status = 200, formTargets = '' }: Page): Response {
  const { html: text } =
    html`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${{ html: STYLE }}</style><main><h1>${title}</h1>${body}</main></html>`;
  return new Response(text, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self' ${formTargets}; base-uri 'none'; frame-ancestors 'none'`,
      // Browsers that do not know frame-ancestors.
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
  });
}
