/** The parts of the sign-in pages, for pages of an application that look like them: the entry `@freehold/auth/page-kit`. */
export { styleSheet } from './assets/style.ts';
export { readForm } from './lib/request-body.ts';
export { alert, checkbox, chosen, type Field, field, form, hidden, notice } from './pages/fields.ts';
export { Html, html } from './pages/html.ts';
export { ACCENT_DEFAULT, type AccentColors, accentColors, contrast } from './pages/theme.ts';
