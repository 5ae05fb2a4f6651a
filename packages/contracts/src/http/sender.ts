/** The sender that a network address stands for, where limits count by address. */

/** The name of all senders whose address is unknown. */
export const UNKNOWN_ADDRESS = 'anybody';

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;
/**
 * RFC 4291, section 2.5.5.2, and RFC 6052, section 2.1: prefixes of an IPv4 address, which is in the last two groups.
 */
const MAPPED = ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'];

/**
 * The sender of an address: `192.0.2.1`, `2001:db8:0:1::/64`, or {@link UNKNOWN_ADDRESS} for any other text. Of IPv6
 * it is the /64, because that is what one subscriber is given: single addresses would have 2^64 limits.
 * @param address from a socket or a proxy; null when it is unknown.
 */
export function senderOf(address: string | null): string {
  const text = address?.trim().replace(/%.*$/, '').toLowerCase() ?? '';
  if (IPV4.test(text)) return text;
  const groups = groupsOf(text);
  if (!groups) return UNKNOWN_ADDRESS;
  if (MAPPED.includes(groups.slice(0, 6).join(':'))) return dotted(groups.slice(6));
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** The eight groups of an IPv6 address, without leading zeros; null for any other text. */
function groupsOf(text: string): readonly string[] | null {
  // The URL parser normalises every address. The pattern excludes a bracket, which would end the host.
  const url = /^[0-9a-f:.]+$/.test(text) && text.includes(':') ? URL.parse(`http://[${text}]/`) : null;
  if (!url) return null;
  const [head = '', tail] = url.hostname.slice(1, -1).split('::');
  const left = head === '' ? [] : head.split(':');
  if (tail === undefined) return left;
  const right = tail === '' ? [] : tail.split(':');
  return [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
}

function dotted(groups: readonly string[]): string {
  return groups
    .map((group) => Number.parseInt(group, 16))
    .flatMap((value) => [value >> 8, value & 0xff])
    .join('.');
}
