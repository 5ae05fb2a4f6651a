/** The network that an address stands for, when attempts are counted. */

const GROUPS = 8;
const NETWORK_GROUPS = 4;

/**
 * Returns the address itself for IPv4, and the /64 for IPv6: one subscriber has at least that many addresses (RFC
 * 6177), and could use another every time. An IPv4-mapped address (RFC 4291, section 2.5.5.2) is the IPv4 address. A
 * text that is no address stands for itself too.
 */
export function networkOf(address: string): string {
  const plain = address.trim().toLowerCase().replace(/%.*$/, '');
  const groups = plain.includes(':') ? parseGroups(plain) : null;
  if (groups === null) return plain;
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) return dottedQuad(groups);
  return `${groups
    .slice(0, NETWORK_GROUPS)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

function parseGroups(address: string): number[] | null {
  const halves = withoutQuad(address).split('::');
  if (halves.length > 2) return null;
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = GROUPS - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null;
  const groups = [...head, ...Array<string>(missing).fill('0'), ...tail];
  return groups.every((group) => /^[0-9a-f]{1,4}$/.test(group))
    ? groups.map((group) => Number.parseInt(group, 16))
    : null;
}

/** Returns the address with the last two groups in hexadecimal, if they were written as IPv4. */
function withoutQuad(address: string): string {
  return address.replace(/(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/, (_, ...quad: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = quad.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
}

function dottedQuad(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
