/** How the pages look: the application's name, colours and links, checked once when the provider is made. */
import { type AccentColors, accentColors } from '../accent-colors.ts';

/** What an application may choose. */
export interface AuthTheme {
  /** Shown in headings, mails and password managers. Default: the host name that the page was asked for at. */
  readonly appName?: string;
  /** `#rrggbb`. Its lightness is shifted where text would be hard to read. Default: a dark green. */
  readonly accentColor?: string;
  /** A path on the same origin, or an http(s) URL. */
  readonly logoUrl?: string;
  /** Loaded after our own style sheet: a path on the same origin, or an http(s) URL. */
  readonly stylesheetUrl?: string;
  /** Where the logo leads. Default `/`. */
  readonly homeUrl?: string;
  /** Where somebody who cannot sign in finds help: a path, an http(s) URL or a `mailto:` address. */
  readonly supportUrl?: string;
}

/** A theme with its defaults, and the origins that its pages load from. */
export interface CompleteTheme
  extends Pick<AuthTheme, 'appName' | 'logoUrl' | 'stylesheetUrl' | 'supportUrl'> {
  readonly homeUrl: string;
  readonly accent: AccentColors;
  /** Origins for the content security policy, each with a space before it. */
  readonly styleSources: string;
  readonly imageSources: string;
}

const ACCENT_DEFAULT = '#1f5f4a';
const APP_NAME_LENGTH_MAX = 80;
/** A host with what belongs to one: `URL` lets a semicolon, an asterisk and a quote through. */
const PLAIN_HOST = /^[a-z0-9.:[\]-]+$/;

/** @throws TypeError for a colour, a name or an address that cannot be used; a page must not become a script by it. */
export function completeTheme(theme: AuthTheme = {}): CompleteTheme {
  const { appName, accentColor = ACCENT_DEFAULT, logoUrl, stylesheetUrl, homeUrl = '/', supportUrl } = theme;
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

/** A path is covered by 'self'. Of an address the host was checked: it could end a directive otherwise. */
function sourceOf(address: string | undefined): string {
  return address === undefined || isPath(address) ? '' : ` ${new URL(address).origin}`;
}
