/** Parses host names into one spelling, and tells which names the platform reserves. */
import { PlatformError } from '@freehold/contracts';
import { parse as parseSuffix } from 'tldts';

/** The longest name that DNS carries, in characters (RFC 1035, section 2.3.4). */
const NAME_CHARS_MAX = 253;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Characters that would make a URL parser read more than a host name. */
const NOT_IN_A_NAME = /[\s/\\:@?#[\]%*<>^|]/;

/**
 * The ASCII form of a host name: lower case, international labels in Punycode, no trailing dot.
 * @throws PlatformError `validation_failed` on anything that is not a full host name: an IP address in any
 * notation, a port, a wildcard, a single label other than `localhost`.
 */
export function parseHostname(text: string): string {
  if (NOT_IN_A_NAME.test(text)) throw refused('must be a host name, without a scheme, port or path');
  const name = asciiForm(text.replace(/\.$/, ''));
  const labels = name.split('.');
  if (name.length > NAME_CHARS_MAX) throw refused('must not be longer than 253 characters');
  if (!labels.every((label) => LABEL.test(label)))
    throw refused('must consist of labels of letters, digits and inner hyphens');
  // The URL parser turns every notation of an IPv4 address, 0x7f.1 among them, into four numbers.
  if (/^\d+$/.test(labels.at(-1) as string)) throw refused('must not be an IP address');
  if (labels.length === 1 && name !== 'localhost') throw refused('must be a full host name with a dot');
  return name;
}

/**
 * Refuses a name under which registries or hosting services give names to others (publicsuffix.org, its private part
 * included): its holder could set cookies for all of them. A suffix on no list is a name like any other.
 * @throws PlatformError `validation_failed`.
 */
export function refuseBareSuffix(name: string): void {
  const { publicSuffix, isIcann, isPrivate } = parseSuffix(name, { allowPrivateDomains: true });
  if (publicSuffix === name && (isIcann || isPrivate))
    throw refused('must not be a public suffix; bind a name below it');
}

/**
 * Whether the platform reserves a name: its own addresses and every name below one. Names below `localhost` and below a
 * base domain are given out, also when the platform is reached there.
 */
export function isReserved(
  name: string,
  {
    reservedHostnames,
    baseDomains,
  }: { readonly reservedHostnames: readonly string[]; readonly baseDomains: readonly string[] },
): boolean {
  const givenOut = new Set(['localhost', ...baseDomains.map((domain) => domain.toLowerCase())]);
  return reservedHostnames
    .map((reserved) => reserved.toLowerCase())
    .some((reserved) => name === reserved || (!givenOut.has(reserved) && name.endsWith(`.${reserved}`)));
}

function asciiForm(text: string): string {
  try {
    return new URL(`http://${text}/`).hostname;
  } catch (cause) {
    throw refused('must be a host name', cause);
  }
}

function refused(message: string, cause?: unknown): PlatformError {
  return new PlatformError('validation_failed', `The body is not valid. hostname: ${message}`, {
    errors: [{ path: 'hostname', message }],
    cause,
  });
}
