/** The check of the declared look: its colour is written into a style sheet, and its language into each page. */
import type { AppLook } from './app.ts';

/** `#rgb` or `#rrggbb`. */
const COLOR = /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i;

/** @throws TypeError that names the field. */
export function requireLook({ color, language }: AppLook): void {
  if (color !== undefined && !COLOR.test(color))
    throw new TypeError('app.look.color: must be a colour in hexadecimal, such as #0f5132');
  if (language !== undefined && !isLanguageTag(language))
    throw new TypeError('app.look.language: must be a language tag, such as en or de-AT');
}

/** The declared colour as `#rrggbb`; undefined where none is. */
export function colorOf({ color }: AppLook): string | undefined {
  return color?.length === 4 ? `#${[...color.slice(1)].map((digit) => digit + digit).join('')}` : color;
}

function isLanguageTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
