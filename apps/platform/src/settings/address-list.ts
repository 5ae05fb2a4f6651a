/** Network addresses and ranges as operators write them: `10.1.0.0/16`, `2001:db8::1`; and which addresses are public. */
import { BlockList, isIP } from 'node:net';

/** Whether an address is on the list. A text that is no address never is. */
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

/** An operator's own networks, this machine included. */
export const isPrivate: AddressList = makeAddressList([
  ...['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'],
  ...['::1', 'fc00::/7', 'fe80::/10'],
]);

/** Ranges that are no public servers (IANA special-purpose registries, RFC 6890 and its updates). */
const isSpecial = makeAddressList([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
]);
/** All public IPv6 space that has been allocated so far; tunnels into IPv4 and the rest lie outside. */
const isPublicIpv6 = makeAddressList(['2000::/3']);

/** Whether an address is a public one. */
export function isPublic(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !isSpecial(address);
  return family === 6 && isPublicIpv6(address) && !isSpecial(address);
}
