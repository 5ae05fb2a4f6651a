/** The parts of forms: inputs with their labels, hints and faults, linked for users of screen readers. */

import { type Html, html } from '../markup/html.ts';
import type { Texts } from '../texts/en.ts';

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type?: 'text' | 'email' | 'password';
  readonly autocomplete: string;
  readonly value?: string | null | undefined;
  readonly hint?: string;
  /** The fault of the typed value, as a sentence. */
  readonly fault?: string | undefined;
  /** True when an alert elsewhere on the page describes this field's fault. */
  readonly faultAbove?: boolean | undefined;
  readonly required?: boolean;
  readonly autofocus?: boolean | undefined;
  readonly inputmode?: 'numeric' | 'email';
  readonly minLength?: number;
  readonly maxLength?: number;
  /** Precedes the ids when one page has the same field twice. */
  readonly prefix?: string;
  /** The label of the button that shows a password. */
  readonly reveal?: string;
}

/** The id of a form's alert, which describes the fields of `faultAbove`. */
const ALERT_ID = 'alert';

export function field(options: Field): Html {
  const { name, label, type = 'text', autocomplete, value, hint, fault, faultAbove = false } = options;
  const id = `${options.prefix ?? ''}${name}`;
  const describedBy = [hint && `${id}-hint`, fault && `${id}-fault`, faultAbove && ALERT_ID]
    .filter((each) => each)
    .join(' ');
  return html`<div class="field">
<label for="${id}">${label}</label>
${hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>`}
${fault !== undefined && html`<p class="fault" id="${id}-fault" role="alert">${fault}</p>`}
<input id="${id}" name="${name}" type="${type}" autocomplete="${autocomplete}" value="${type === 'password' ? '' : value}"${
    options.required !== false && html` required`
  }${(type === 'email' || type === 'password') && html` autocapitalize="none" spellcheck="false"`}${
    options.inputmode !== undefined && html` inputmode="${options.inputmode}"`
  }${options.minLength !== undefined && html` minlength="${options.minLength}"`}${
    options.maxLength !== undefined && html` maxlength="${options.maxLength}"`
  }${(fault !== undefined || faultAbove) && html` aria-invalid="true"`}${
    describedBy !== '' && html` aria-describedby="${describedBy}"`
  }${options.autofocus === true && html` autofocus`}>
${options.reveal !== undefined && html`<button type="button" class="reveal" data-reveal="${id}" aria-pressed="false" hidden>${options.reveal}</button>`}
</div>`;
}

/** A hidden input. An empty value is left out. */
export function hidden(name: string, value: string | null | undefined): Html {
  return html`${value ? html`<input type="hidden" name="${name}" value="${value}">` : false}`;
}

export function checkbox(options: {
  readonly name: string;
  readonly label: string;
  readonly checked?: boolean | undefined;
}): Html {
  const { name, label, checked = false } = options;
  return html`<p class="check"><input id="${name}" name="${name}" type="checkbox" autocomplete="off" value="yes"${checked && html` checked`}> <label for="${name}">${label}</label></p>`;
}

/** The fault of a form as a whole, read out at once. */
export function alert(message: string | undefined): Html {
  return html`${message !== undefined && html`<p class="alert" id="${ALERT_ID}" role="alert">${message}</p>`}`;
}

/** A success, read out when there is time. */
export function notice(message: string | undefined): Html {
  return html`${message !== undefined && html`<p class="notice" role="status">${message}</p>`}`;
}

/** A form that posts to one of our addresses. The browser's own messages are off: ours are read out and stay. */
export function form(action: string, content: Html): Html {
  return html`<form method="post" action="${action}" novalidate>
${content}
</form>`;
}

/** The field of a new password, with its account for password managers. */
export function newPasswordField(
  t: Texts,
  options: {
    readonly email: string;
    readonly fault?: string | undefined;
    readonly prefix?: string;
    readonly autofocus?: boolean;
  },
): Html {
  const { email, fault, prefix = '', autofocus } = options;
  return html`<div hidden><label for="${prefix}username">${t.frame.email}</label>
<input id="${prefix}username" name="username" type="email" autocomplete="username" value="${email}" readonly></div>
${field({
  name: 'password',
  label: t.newPassword.label,
  reveal: t.frame.showPassword,
  type: 'password',
  autocomplete: 'new-password',
  hint: t.newPassword.hint,
  fault,
  prefix,
  autofocus: autofocus ?? fault !== undefined,
  // No greatest length: a browser would silently cut off a pasted password.
  minLength: 8,
})}`;
}

/** A user's own text, which must not change the direction of the text around it. */
export function chosen(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

/** A day in a form that readers of every language understand: `2026-11-21`. */
export function day(atMs: number): Html {
  const date = new Date(atMs).toISOString().slice(0, 10);
  return html`<time datetime="${date}">${date}</time>`;
}
