/** The network that an address stands for. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { networkOf } from './attempts.ts';

test.each([
  ['192.0.2.7', '192.0.2.7'],
  [' 192.0.2.7 ', '192.0.2.7'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:DB8:0:0:FFFF:FFFF:FFFF:FFFF', '2001:db8:0:0::/64'],
  ['2001:0db8:0000:0001::', '2001:db8:0:1::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::ffff:c000:207', '192.0.2.7'],
  ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
  ['1::2::3', '1::2::3'],
  ['1:2:3', '1:2:3'],
  ['12345::', '12345::'],
  ['unknown', 'unknown'],
])('%s stands for %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test('the last 64 bits never matter, the first always do', () => {
  const half = fc.array(fc.integer({ min: 1, max: 0xffff }), { minLength: 4, maxLength: 4 });
  const write = (groups: number[]) => groups.map((group) => group.toString(16)).join(':');
  fc.assert(
    fc.property(half, half, half, (network, one, another) => {
      const same = networkOf(write([...network, ...one])) === networkOf(write([...network, ...another]));
      expect(same).toBe(true);
      expect(networkOf(write([...one, ...another])) === networkOf(write([...network, ...another]))).toBe(
        write(one) === write(network),
      );
    }),
  );
});
