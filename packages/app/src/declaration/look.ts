/** The declared look: its colour is written into a style sheet, and its language into each page. */
import type { AppLook } from './app.ts';

/** `#rgb` or `#rrggbb`. */
export const COLOR = /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i;

/** The declared colour as `#rrggbb`; undefined where none is. */
export function colorOf({ color }: AppLook): string | undefined {
  return color?.length === 4 ? `#${[...color.slice(1)].map((digit) => digit + digit).join('')}` : color;
}

export function isLanguageTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
