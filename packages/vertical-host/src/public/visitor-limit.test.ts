/** A form is limited by address, and no visitor takes it away from another one or another tenant. */
import type { PlatformError } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { makeVisitorLimit } from './visitor-limit.ts';

function setUp() {
  const clock = { ms: 30_000 };
  const limit = makeVisitorLimit({ times: 3, windowSeconds: 60, now: () => clock.ms });
  const send = (address: string | null, form = 'scp_a') => {
    try {
      limit(form, address);
      return 'taken';
    } catch (error) {
      const { status, headers } = error as PlatformError;
      return [status, headers?.['retry-after']];
    }
  };
  return { clock, send };
}

test('the fourth from one address is refused until the window is over, and it costs the others nothing', () => {
  const { clock, send } = setUp();
  expect([1, 2, 3, 4].map(() => send('192.0.2.1'))).toEqual(['taken', 'taken', 'taken', [429, '30']]);
  expect(send('192.0.2.2')).toBe('taken');
  expect(send('192.0.2.1', 'scp_b')).toBe('taken');
  clock.ms += 29_999;
  expect(send('192.0.2.1')).toEqual([429, '1']);
  clock.ms += 1;
  expect(send('192.0.2.1')).toBe('taken');
});

test('a subscriber of IPv6 is one sender, with all addresses of their /64', () => {
  const { send } = setUp();
  expect(['1', '2', '3', '4'].map((host) => send(`2001:db8::${host}`)).at(-1)).toEqual([429, '30']);
  expect(send('2001:db8:0:1::1')).toBe('taken');
});

test('visitors of unknown address share a larger limit, and use up no known one', () => {
  const { send } = setUp();
  const sent = Array.from({ length: 61 }, () => send(null));
  expect([sent.filter((each) => each === 'taken').length, sent.at(-1)]).toEqual([60, [429, '30']]);
  expect(send('192.0.2.1')).toBe('taken');
});

test('very many addresses do not fill the memory', () => {
  const { send } = setUp();
  for (let i = 0; i < 3; i += 1) send('192.0.2.1');
  for (let i = 0; i < 20_001; i += 1) send(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  expect(send('192.0.2.1')).toBe('taken');
});
