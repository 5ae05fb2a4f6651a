/** The label of a `User-Agent`. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clientLabel } from './client-label.ts';

const X11 = 'Mozilla/5.0 (X11; Linux x86_64)';
const WINDOWS = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)';
const MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)';
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';
const ANDROID = 'Mozilla/5.0 (Linux; Android 14; SM-S921B) AppleWebKit/537.36 (KHTML, like Gecko)';

test.each([
  [`${X11.replace(')', '; rv:140.0)')} Gecko/20100101 Firefox/140.0`, 'Firefox on Linux'],
  [`${WINDOWS} Chrome/140.0.0.0 Safari/537.36`, 'Chrome on Windows'],
  [`${WINDOWS} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0`, 'Edge on Windows'],
  [`${WINDOWS} Chrome/140.0.0.0 Safari/537.36 OPR/120.0.0.0`, 'Opera on Windows'],
  [
    `${X11} AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Vivaldi/7.5`,
    'Vivaldi on Linux',
  ],
  [
    `${X11} AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0.0.0 Safari/537.36`,
    'Headless Chrome on Linux',
  ],
  [`${WINDOWS} HeadlessEdg/140.0.0.0 Safari/537.36`, 'Headless Edge on Windows'],
  [`${MAC} Version/18.5 Safari/605.1.15`, 'Safari on macOS'],
  [`${IPHONE} Version/17.5 Mobile/15E148 Safari/604.1`, 'Safari on iPhone'],
  [`${IPHONE} CriOS/140.0.0.0 Mobile/15E148 Safari/604.1`, 'Chrome on iPhone'],
  [`${IPHONE.replaceAll('iPhone', 'iPad')} FxiOS/140.0 Mobile/15E148 Safari/605.1.15`, 'Firefox on iPad'],
  [`${ANDROID} Chrome/140.0.0.0 Mobile Safari/537.36`, 'Chrome on Android'],
  [`${ANDROID} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`, 'Samsung Internet on Android'],
  ['Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) Chrome/140.0.0.0 Safari/537.36', 'Chrome on ChromeOS'],
  ['Firefox/140.0', 'Firefox'],
  ['something (Windows NT 10.0)', 'Windows'],
  ['curl/8.9.1', null],
  ['', null],
  [null, null],
])('%s is %s', (userAgent, label) => {
  expect(clientLabel(userAgent)).toBe(label);
});

test('for any header, the words are ours', () => {
  const words =
    /^(?:(?:(?:Headless )?Edge|Opera|Vivaldi|Samsung Internet|Firefox|(?:Headless )?Chrome|Safari)(?: on )?)?(?:iPhone|iPad|Android|ChromeOS|Windows|macOS|Linux)?$/;
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom('Firefox/', 'Linux', '<script>', 'Windows', 'Edg/', 'HeadlessChrome/', '"'),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const label = clientLabel(pieces.join(' '));
      return label === null || words.test(label);
    }),
  );
});

test('a text of any length takes no time', () => {
  expect(clientLabel(`${'Version/1'.repeat(200_000)} Firefox/140`)).toBeNull();
});
