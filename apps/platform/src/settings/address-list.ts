/** Lists of network addresses and ranges, as operators write them: `10.1.0.0/16`, `2001:db8::1`. */
import { BlockList, isIP } from 'node:net';

/** Whether an address is on the list. What is no address never is. */
export type AddressList = (address: string) => boolean;

/** @param entries each one for which {@link isRange} and {@link isSoundRange} hold. */
export function makeAddressList(entries: readonly string[]): AddressList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** Whether an entry is an address or a range, rather than a name. */
export function isRange(entry: string): boolean {
  return isIP(entry.split('/')[0] ?? '') !== 0;
}

/** Whether an address or range is well formed: its number of bits is one that its family has. */
export function isSoundRange(entry: string): boolean {
  const [address = '', bits, more] = entry.split('/');
  const longest = isIP(address) === 6 ? 128 : 32;
  return (
    isRange(entry) &&
    more === undefined &&
    (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longest))
  );
}

/** This machine, seen from itself. */
export const isLoopbackAddress: AddressList = makeAddressList(['127.0.0.0/8', '::1']);

/**
 * An address in one spelling: IPv4 that a socket for both families shows as `::ffff:192.0.2.1` is IPv4, and the name
 * of a network interface behind `%` is none of the address. Null for what is no address.
 */
export function plainAddress(text: string | undefined): string | null {
  const address = (text ?? '')
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=\d+\.)/i, '')
    .toLowerCase();
  return isIP(address) === 0 ? null : address;
}
