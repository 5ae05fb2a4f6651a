/** What a session was begun with, in a few words of our own: nothing that a caller wrote is kept or shown. */

/** The longest part of a `User-Agent` that is looked at. Browsers say who they are well before it ends. */
const LOOKED_AT_MAX = 1_000;

/** In this order: nearly every browser also says that it is Chrome and Safari. */
const BROWSERS: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|OPT|Opera)\//, 'Opera'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  // Driven by a program: whoever finds one in the list of their sessions should see that.
  [/\bHeadlessEdg\//, 'Headless Edge'],
  [/\bHeadlessChrome\//, 'Headless Chrome'],
  [/\b(?:Chrome|CriOS|Chromium)\//, 'Chrome'],
  [/\bVersion\/[\d.]+ (?:Mobile\/\w+ )?Safari\//, 'Safari'],
];

/** In this order: a telephone with Android also says Linux, and an iPhone "like Mac OS X". */
const SYSTEMS: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\b(?:Macintosh|Mac OS X)\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

/**
 * Such as "Firefox on Linux"; the one half that is known when the other is not; null when neither is. The words come
 * from a closed list.
 */
export function clientLabel(userAgent: string | null): string | null {
  const text = userAgent?.slice(0, LOOKED_AT_MAX) ?? '';
  const find = (list: typeof BROWSERS) => list.find(([mark]) => mark.test(text))?.[1];
  const words = [find(BROWSERS), find(SYSTEMS)].filter((each) => each !== undefined);
  return words.length === 0 ? null : words.join(' on ');
}
