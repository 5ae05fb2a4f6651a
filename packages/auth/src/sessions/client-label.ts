/** The browser and system of a session, in words of a closed list: no caller's own text is stored or shown. */

/** The part of a `User-Agent` that is read. Browsers name themselves well before its end. */
const LOOKED_AT_MAX = 1_000;

/** In this order: nearly every browser also says that it is Chrome and Safari. */
const BROWSERS: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|OPT|Opera)\//, 'Opera'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  // Driven by a program, which the holder of the session should see.
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

/** Returns a label such as "Firefox on Linux", or the half of it that is known; null when neither is. */
export function clientLabel(userAgent: string | null): string | null {
  const text = userAgent?.slice(0, LOOKED_AT_MAX) ?? '';
  const find = (list: typeof BROWSERS) => list.find(([mark]) => mark.test(text))?.[1];
  const words = [find(BROWSERS), find(SYSTEMS)].filter((each) => each !== undefined);
  return words.length === 0 ? null : words.join(' on ');
}
