/** Addresses that a program may be sent back to (RFC 6749, section 3.1.2; RFC 8252, section 7; RFC 9700, section 2.1). */

const LENGTH_MAX = 2_000;
/** Schemes that a browser or a system gives a meaning of its own: they could run a script, open a file or send a mail. */
const TAKEN_SCHEMES: ReadonlySet<string> = new Set(
  [
    'about blob chrome chrome-extension content data facetime file filesystem ftp ftps geo git intent itms',
    'jar javascript jscript livescript mailto market moz-extension ms-settings news res resource search-ms sip sips sms',
    'smb ssh tel telnet urn vbscript view-source wss ws x-apple-helpbasic',
  ]
    .join(' ')
    .split(' '),
);
/** RFC 3986, section 3.1. */
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;
/** A parser takes more, such as a semicolon, which would end a directive of the policy that names the host. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/;
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/**
 * `web`: an https address, which its host alone can receive. `loopback`: a port of the person's own machine, and
 * `scheme`: a private-use scheme. Any program of the machine can receive either (RFC 8252, sections 8.6 and 8.1).
 */
export type RedirectKind = 'web' | 'loopback' | 'scheme';

/**
 * Returns the kind of an address that a client may register; null for one that it may not. It is absolute and has no
 * fragment (RFC 6749, section 3.1.2), neither user nor password, and only visible ASCII characters.
 */
export function redirectKind(uri: string): RedirectKind | null {
  if (uri.length > LENGTH_MAX || !/^[\x21-\x7e]+$/.test(uri) || /[#\\<>"`{}|^]/.test(uri)) return null;
  const scheme = SCHEME.exec(uri)?.[1]?.toLowerCase();
  if (scheme === undefined || !URL.canParse(uri)) return null;
  const url = new URL(uri);
  if (url.username !== '' || url.password !== '') return null;
  if (scheme === 'https') return HOST.test(url.hostname) ? 'web' : null;
  if (scheme === 'http') return LOOPBACK_HOSTS.has(url.hostname) ? 'loopback' : null;
  return TAKEN_SCHEMES.has(scheme) ? null : 'scheme';
}

/**
 * Whether an asked address is a registered one: character by character, but for the port of a loopback address, which the
 * program gets from its system at the time of the request (RFC 8252, section 7.3; RFC 9700, section 4.1.3).
 */
export function isRegisteredRedirect(registered: readonly string[], asked: string): boolean {
  const kind = redirectKind(asked);
  if (kind === null) return false;
  if (registered.includes(asked)) return true;
  if (kind !== 'loopback') return false;
  const wanted = withoutPort(asked);
  return registered.some((each) => redirectKind(each) === 'loopback' && withoutPort(each) === wanted);
}

/** Compared as text, so that nothing but the port is made equal. */
function withoutPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:\[::1\]|[^/:?]+))(?::\d*)?/i, '$1');
}

/** Returns what people are shown of the receiver of an address: its host name, or its scheme. */
export function receiverOf(uri: string): string {
  const { protocol, hostname } = new URL(uri);
  return redirectKind(uri) === 'scheme' ? protocol.replace(/:$/, '') : hostname;
}

/** Returns an address with the parameters of an answer in its query (RFC 6749, section 4.1.2). */
export function withAnswer(uri: string, answer: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams(
    Object.entries(answer).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  // By characters: a parser would rewrite the address, which the client compares.
  return `${uri}${uri.includes('?') ? '&' : '?'}${query}`;
}

/** Returns the source by which a policy lets a form of the consent page lead on to the program (CSP 3, section 6.4.1). */
export function formTargetOf(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri);
  // An IPv6 address cannot be written in a policy.
  return redirectKind(redirectUri) === 'scheme' || hostname.startsWith('[')
    ? protocol
    : `${protocol}//${host}`;
}
