/** The parts of the sign-in pages, for pages of an application that look like them: the entry `@freehold/auth/page-kit`. */
export { styleSheet } from './assets/style.ts';
export { readForm } from './lib/request-body.ts';
export { REFERRER_POLICY, REFERRER_POLICY_OF_LINKS } from './lib/responses.ts';
export { Html, html } from './markup/html.ts';
export { alert, checkbox, chosen, type Field, field, form, hidden, notice } from './pages/fields.ts';
export { renderDocument } from './pages/layout.ts';
export { ACCENT_DEFAULT, type AccentColors, accentColors, contrast } from './pages/theme.ts';
export { type Chosen, chooseLanguage, type Language } from './texts/language.ts';
