/** An application's choices, and those that would make its pages unreadable or unsafe. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { accentColors, completeTheme, contrast, SURFACES } from './theme.ts';

const hexColor = fc
  .integer({ min: 0, max: 0xffffff })
  .map((value) => `#${value.toString(16).padStart(6, '0')}`);

test('for every accent colour, text in it and on it is readable in both schemes', () => {
  fc.assert(
    fc.property(hexColor, (color) => {
      const accent = accentColors(color);
      for (const scheme of ['light', 'dark'] as const) {
        // Links stand outside the cards and in notices as well.
        for (const surface of Object.values(SURFACES[scheme]))
          expect(contrast(accent[scheme].color, surface)).toBeGreaterThanOrEqual(4.5);
        expect(contrast(accent[scheme].color, accent[scheme].ink)).toBeGreaterThanOrEqual(4.5);
      }
    }),
  );
});

test('a readable colour stays as it was chosen', () => {
  expect(accentColors('#1f5f4a').light).toEqual({ color: '#1f5f4a', ink: '#ffffff' });
});

test.each([
  ['red', { accentColor: 'red' }],
  ['a colour that ends the rule', { accentColor: '#fff;} body{display:none' }],
  ['a name of nothing', { appName: ' ' }],
  ['a name of two lines', { appName: 'a\nb' }],
  ['a name with half a surrogate pair', { appName: 'a\ud800' }],
  ['a script as the way home', { homeUrl: 'javascript:alert(1)' }],
  ['data as a logo', { logoUrl: 'data:image/svg+xml,<svg/>' }],
  ['another host in disguise', { stylesheetUrl: '//evil.example/x.css' }],
  ['the same with a backslash', { stylesheetUrl: '/\\evil.example/x.css' }],
  ['a host that ends a directive of the policy', { stylesheetUrl: 'https://a;b/x.css' }],
  ['a host that is all hosts', { logoUrl: 'https://*/x.png' }],
  ['a host with a quote', { stylesheetUrl: "https://x;script-src'unsafe-inline'/" }],
  ['a relative path', { logoUrl: 'logo.png' }],
  ['a script as help', { supportUrl: 'javascript:alert(1)' }],
])('%s is refused when the provider is made', (_, theme) => {
  expect(() => completeTheme(theme)).toThrow(TypeError);
});

test('only the origins that pages load from get into the policy', () => {
  const theme = completeTheme({
    logoUrl: 'https://cdn.example/a/logo.png?x=1;script-src *',
    stylesheetUrl: '/theme.css',
    supportUrl: 'mailto:help@example.com',
  });
  expect([theme.imageSources, theme.styleSources]).toEqual([' https://cdn.example', '']);
});
