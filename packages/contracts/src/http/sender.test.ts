import { describe, expect, test } from 'vitest';
import { senderOf, UNKNOWN_ADDRESS } from './sender.ts';

describe('whom an address stands for', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    [' 192.0.2.1 ', '192.0.2.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
  ])('IPv4 %j is itself', (address, sender) => {
    expect(senderOf(address)).toBe(sender);
  });

  test.each([
    ['2001:db8:0:1::7', '2001:db8:0:1::/64'],
    ['2001:0DB8:0000:0001:ffff:ffff:ffff:ffff', '2001:db8:0:1::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
  ])('IPv6 %j is its /64', (address, sender) => {
    expect(senderOf(address)).toBe(sender);
  });

  test.each([
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:0201', '192.0.2.1'],
    ['64:ff9b::192.0.2.33', '192.0.2.33'],
  ])('%j is the IPv4 that it says: else everybody behind it would be one', (address, sender) => {
    expect(senderOf(address)).toBe(sender);
  });

  test.each([
    null,
    '',
    'unknown',
    '192.0.2',
    '192.0.2.1.',
    '192.0.2.256',
    '192.0.2.01.1',
    '1.2.3.4.5',
    '2130706433',
    '0x7f.1',
    'example.test',
    ':',
    ':::',
    '2001:db8::g',
    '2001:db8::1]@evil.test/[',
    '[2001:db8::1]',
    '1:2:3:4:5:6:7:8:9',
    '192.0.2.1:80',
  ])('%j is no address: its sender is unknown', (address) => {
    expect(senderOf(address)).toBe(UNKNOWN_ADDRESS);
  });
});
