/**
 * What a network address is to a limit: whoever is behind it, as nearly as an address says that. Of IPv6 it is the /64,
 * because that is what one subscriber is given, and a limit for each address would be one for each of 2^64.
 */

/** The name under which a sender is counted who has no address that anybody vouches for. */
export const UNKNOWN_ADDRESS = 'anybody';

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;
/** RFC 4291, section 2.5.5.2, and RFC 6052, section 2.1: IPv4 in the clothes of IPv6. The seventh and eighth group are it. */
const MAPPED = ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'];

/**
 * The sender that an address stands for: `192.0.2.1`, `2001:db8:0:1::/64`, or {@link UNKNOWN_ADDRESS} for what is none.
 * @param address as a socket or a proxy says it; null when nobody says it.
 */
export function senderOf(address: string | null): string {
  const text = address?.trim().replace(/%.*$/, '').toLowerCase() ?? '';
  if (IPV4.test(text)) return text;
  const groups = groupsOf(text);
  if (!groups) return UNKNOWN_ADDRESS;
  if (MAPPED.includes(groups.slice(0, 6).join(':'))) return dotted(groups.slice(6));
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** The eight groups of an IPv6 address, without leading zeros; null for what is none. */
function groupsOf(text: string): readonly string[] | null {
  // The URL parser has one spelling for every address. A bracket would end the host, and let anything follow.
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
