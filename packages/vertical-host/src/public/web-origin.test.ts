import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { isOrigin, webOrigin } from './cors.ts';

test.each([
  ['https://shop.example', 'https://shop.example'],
  ['https://shop.example/', 'https://shop.example'],
  [' HTTPS://Shop.Example ', 'https://shop.example'],
  ['https://shop.example:443', 'https://shop.example'],
  ['https://shop.example:8443', 'https://shop.example:8443'],
  ['http://localhost:5173/', 'http://localhost:5173'],
  ['https://münchen.example', 'https://xn--mnchen-3ya.example'],
  ['https://[2001:DB8::1]', 'https://[2001:db8::1]'],
])('D-13 %j is what browsers call %s', (text, origin) => {
  expect(webOrigin.parse(text)).toBe(origin);
});

test.each([
  '',
  'shop.example',
  '*',
  'null',
  'https://*.example',
  'https://*',
  'https://a,b.example',
  "https://a'b.example",
  'https://shop.example/booking',
  'https://shop.example/?',
  'https://shop.example?x=1',
  'https://shop.example#x',
  'https://ada@shop.example',
  'https://ada:secret@shop.example/',
  'https://shop.example https://b.example',
  'https://a.example, https://b.example',
  'ftp://shop.example',
  'file:///home',
  'javascript:alert(1)',
  'data:text/html,x',
  `https://${'a'.repeat(300)}.example`,
])('D-13 %j is no site', (text) => {
  expect(webOrigin.safeParse(text).success).toBe(false);
});

test('D-13 whatever is taken is an origin that the surface knows, and is taken again as it is', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.webUrl(),
        fc.webAuthority().map((each) => `https://${each}`),
        fc.string(),
      ),
      (text) => {
        const { success, data } = webOrigin.safeParse(text);
        if (!success) return;
        expect(isOrigin(data)).toBe(true);
        expect(webOrigin.parse(data)).toBe(data);
      },
    ),
  );
});

test('an operation that takes it can be described', () => {
  expect(z.toJSONSchema(z.strictObject({ origin: webOrigin }), { io: 'input' })).toMatchObject({
    properties: { origin: { type: 'string', maxLength: 300 } },
  });
});
