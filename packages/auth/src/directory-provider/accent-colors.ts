/**
 * Colours made from one accent colour, so that text in it can be read on every surface of the pages, and text on it as
 * well (WCAG 2.2, 1.4.3: at least 4.5 to 1).
 */

/** One scheme's pair: the colour, and what is written on it. Each `#rrggbb`. */
interface AccentPair {
  readonly color: string;
  readonly ink: string;
}

export interface AccentColors {
  readonly light: AccentPair;
  readonly dark: AccentPair;
}

/** What links and buttons stand on: cards, the page around them, and notices, as the style sheet has them. */
export const SURFACES = {
  light: { card: '#ffffff', page: '#f4f3ef', notice: '#eaf3ee' },
  dark: { card: '#1d2026', page: '#14161a', notice: '#1c2b25' },
};

const CONTRAST_MIN = 4.5;
const STEPS = 20;

type Rgb = readonly [number, number, number];

/** @param accent `#rrggbb`. */
export function accentColors(accent: string): AccentColors {
  return {
    light: pairOf(readableOn(accent, Object.values(SURFACES.light), '#000000')),
    dark: pairOf(readableOn(accent, Object.values(SURFACES.dark), '#ffffff')),
  };
}

/** How well one colour is read on another: 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrast(left: string, right: string): number {
  const [darker = 0, lighter = 0] = [luminance(toRgb(left)), luminance(toRgb(right))].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function pairOf(color: string): AccentPair {
  return { color, ink: contrast(color, '#ffffff') >= contrast(color, '#101214') ? '#ffffff' : '#101214' };
}

/** The colour, moved towards another just far enough to be read on each surface. */
function readableOn(color: string, surfaces: readonly string[], towards: string): string {
  for (let step = 0; step <= STEPS; step += 1) {
    const mixed = mix(toRgb(color), toRgb(towards), step / STEPS);
    if (surfaces.every((surface) => contrast(mixed, surface) >= CONTRAST_MIN)) return mixed;
  }
  return towards;
}

function mix(from: Rgb, to: Rgb, share: number): string {
  const channels = from.map((channel, index) => Math.round(channel + ((to[index] ?? 0) - channel) * share));
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

function luminance(color: Rgb): number {
  const [red = 0, green = 0, blue = 0] = color.map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function toRgb(color: string): Rgb {
  const [red, green, blue] = [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));
  return [red ?? 0, green ?? 0, blue ?? 0];
}
