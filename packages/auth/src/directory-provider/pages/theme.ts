/** The look of the pages: the application's name, colours and links, checked once when the provider is made. */

export interface AuthTheme {
  /** Shown in headings, mails and password managers. Default: the host name of the request. */
  readonly appName?: string;
  /** `#rrggbb`. Its lightness is shifted where text would be hard to read. Default: a dark green. */
  readonly accentColor?: string;
  /** A path on the same origin, or an http(s) URL. */
  readonly logoUrl?: string;
  /** Loaded after our own style sheet: a path on the same origin, or an http(s) URL. */
  readonly stylesheetUrl?: string;
  readonly homeUrl?: string;
  /** Help for a user who cannot sign in: a path, an http(s) URL or a `mailto:` address. */
  readonly supportUrl?: string;
  /** The language of pages and mails: `de`, `de-AT`. Default, and for one without texts: the reader's, else English. */
  readonly language?: string;
}

export interface CompleteTheme
  extends Pick<AuthTheme, 'appName' | 'logoUrl' | 'stylesheetUrl' | 'supportUrl' | 'language'> {
  readonly homeUrl: string;
  readonly accent: AccentColors;
  /** Origins for the content security policy, each with a space before it. */
  readonly styleSources: string;
  readonly imageSources: string;
}

interface AccentPair {
  readonly color: string;
  readonly ink: string;
}

export interface AccentColors {
  readonly light: AccentPair;
  readonly dark: AccentPair;
}

export const ACCENT_DEFAULT = '#1f5f4a';
const APP_NAME_LENGTH_MAX = 80;
/** `URL` lets a semicolon, an asterisk and a quote through, which no host name has. */
const PLAIN_HOST = /^[a-z0-9.:[\]-]+$/;

/** The backgrounds of links and buttons: cards, the page around them, and notices, as the style sheet has them. */
export const SURFACES = {
  light: { card: '#ffffff', page: '#f4f3ef', notice: '#eaf3ee' },
  dark: { card: '#1d2026', page: '#14161a', notice: '#1c2b25' },
};

/** WCAG 2.2, 1.4.3. */
const CONTRAST_MIN = 4.5;
const STEPS = 20;

/** @throws TypeError for an unusable colour, name or address: none of them may turn a page into a script. */
export function completeTheme(theme: AuthTheme = {}): CompleteTheme {
  const {
    appName,
    accentColor = ACCENT_DEFAULT,
    logoUrl,
    stylesheetUrl,
    homeUrl = '/',
    supportUrl,
    language,
  } = theme;
  if (appName !== undefined && !isShowableName(appName))
    throw new TypeError(`theme.appName must be one line of 1 to ${APP_NAME_LENGTH_MAX} characters.`);
  if (!/^#[0-9a-f]{6}$/i.test(accentColor)) throw new TypeError('theme.accentColor must be #rrggbb.');
  requireAddress('logoUrl', logoUrl);
  requireAddress('stylesheetUrl', stylesheetUrl);
  requireAddress('homeUrl', homeUrl);
  requireAddress('supportUrl', supportUrl, /^mailto:/i);
  return {
    ...(appName === undefined ? {} : { appName }),
    ...(logoUrl === undefined ? {} : { logoUrl }),
    ...(stylesheetUrl === undefined ? {} : { stylesheetUrl }),
    ...(supportUrl === undefined ? {} : { supportUrl }),
    ...(language === undefined ? {} : { language }),
    homeUrl,
    accent: accentColors(accentColor),
    styleSources: sourceOf(stylesheetUrl),
    imageSources: sourceOf(logoUrl),
  };
}

function isShowableName(name: string): boolean {
  return name.trim() !== '' && name.length <= APP_NAME_LENGTH_MAX && !/[\p{Cc}\p{Cs}]/u.test(name);
}

function requireAddress(name: keyof AuthTheme, address: string | undefined, also?: RegExp): void {
  if (address === undefined || isPath(address) || isWebAddress(address) || also?.test(address)) return;
  throw new TypeError(`theme.${name} must be a path on the same origin or an http(s) URL.`);
}

function isPath(address: string): boolean {
  return /^\/(?![/\\])/.test(address) && !/[\p{Cc}\\]/u.test(address);
}

function isWebAddress(address: string): boolean {
  return /^https?:\/\//i.test(address) && URL.canParse(address) && PLAIN_HOST.test(new URL(address).host);
}

/** A path is covered by 'self'. The host of an address was checked: it could end a directive otherwise. */
function sourceOf(address: string | undefined): string {
  return address === undefined || isPath(address) ? '' : ` ${new URL(address).origin}`;
}

/** Returns colours in which text is readable on every surface, and on which text is readable. @param accent `#rrggbb`. */
export function accentColors(accent: string): AccentColors {
  return {
    light: pairOf(readableOn(accent, Object.values(SURFACES.light), '#000000')),
    dark: pairOf(readableOn(accent, Object.values(SURFACES.dark), '#ffffff')),
  };
}

/** Returns the contrast ratio of two colours: 1 to 21 (WCAG 2.2). */
export function contrast(left: string, right: string): number {
  const [darker = 0, lighter = 0] = [luminance(toRgb(left)), luminance(toRgb(right))].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function pairOf(color: string): AccentPair {
  return { color, ink: contrast(color, '#ffffff') >= contrast(color, '#101214') ? '#ffffff' : '#101214' };
}

/** Moves a colour towards another, just far enough to be readable on each surface. */
function readableOn(color: string, surfaces: readonly string[], towards: string): string {
  for (let step = 0; step <= STEPS; step += 1) {
    const mixed = mix(toRgb(color), toRgb(towards), step / STEPS);
    if (surfaces.every((surface) => contrast(mixed, surface) >= CONTRAST_MIN)) return mixed;
  }
  return towards;
}

function mix(from: readonly number[], to: readonly number[], share: number): string {
  const channels = from.map((channel, index) => Math.round(channel + ((to[index] ?? 0) - channel) * share));
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

function luminance(color: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = color.map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function toRgb(color: string): readonly number[] {
  return [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));
}
