/**
 * Addresses that look like a path of ours to a filter and lead a browser elsewhere, or break a header in two: all
 * tricks combined with all hosts. For every page that takes a `returnTo`.
 */

/** The hosts on which a victim would land. */
const HOSTS = [
  'evil.example',
  'evil.example:443',
  'app.example@evil.example',
  'app.example:80@evil.example',
  'app.example%40evil.example',
  'app.example.evil.example',
  'evil.example#@app.example',
  'evil.example?@app.example',
  'evil.example\\@app.example',
  'evil.example%00.app.example',
  'evil.example%5C.app.example',
  'evil。example',
  'evil．example',
  'еvil.example',
  'xn--vil-qdd.example',
  '2130706433',
  '0x7f.1',
  '[::ffff:127.0.0.1]',
] as const;

/** Text before the host. `/` and `\` are one to a browser, and tabs and newlines are ignored. */
const PREFIXES = [
  '//',
  '///',
  '/////',
  '/\\',
  '\\/',
  '\\\\',
  '/\\/',
  '\\\\/',
  '/\t/',
  '\t//',
  ' //',
  '/\n/',
  '/\r\n/',
  '/\u0000/',
  '//\u200b',
  '\ufeff//',
  '/%09/',
  '/%0a/',
  '/%0D%0A/',
  '/%00/',
  '/%2f',
  '/%2F/',
  '%2f%2f',
  '/%5c',
  '/%5C%5C',
  '%5c%5c',
  '/%252f',
  '/%255C',
  '/%25252f',
  '/%2509/',
  '/.//',
  '/..//',
  '/%2e//',
  '/%2e%2e//',
  '/a/..//',
  '/./\\',
  '/..%2f/',
  '/.%5c',
  '/%c0%af',
  '/%c0%af%c0%af',
  '/%e0%80%af/',
  '/%c1%9c',
  '/%ef%bc%8f',
  '／／',
  '/／',
  '/＼',
  '/⁄',
  '/∕',
  '/%u2215',
  'http:',
  'https:/',
  'https://',
  'HTTPS://',
  'hTtPs:\\\\',
  'https:///',
  'https:\t//',
  'h\nttps://',
  ' https://',
  '\u0001https://',
  'ftp://',
  'wss://',
  '@',
  ':80@',
  '.',
  '//app.example@',
  '//app.example%2f@',
  'https://app.example@',
  'https://app.example%2f.',
] as const;

/** Addresses that run, show or leave without a host. */
const SCRIPTS = ['javascript', 'data', 'vbscript', 'blob', 'file', 'about', 'view-source', 'mailto'].flatMap(
  (scheme) => [
    `${scheme}:alert(1)`,
    `${scheme.toUpperCase()}:alert(1)`,
    ` ${scheme}:alert(1)`,
    `${scheme.slice(0, 2)}\t${scheme.slice(2)}:alert(1)`,
    `\u0001${scheme}:alert(1)`,
    `${scheme}%3Aalert(1)`,
    `${scheme}://%0aalert(1)`,
    `/${scheme}:alert(1)`,
  ],
);

/** Second headers and second responses. */
const INJECTIONS = [
  '\r\n',
  '\n',
  '\r',
  '%0d%0a',
  '%0a',
  '%0d',
  '%250d%250a',
  '%E5%98%8D%E5%98%8A',
  '\u560d\u560a',
  '\u2028',
  '\u0085',
  '%c2%85',
].flatMap((newline) => [
  `/${newline}Set-Cookie: sb_session=planted`,
  `/ok${newline}Location: https://evil.example/`,
  `/ok?q=1${newline}${newline}<script>alert(1)</script>`,
]);

/** Ways back into the sign-in routes: loops, or immediate exits. */
const SIGN_IN_ROUTES = [
  '/api/auth',
  '/api/auth/',
  '/api/auth/login',
  '/api/auth/logout',
  '/api/auth/logout?federated',
  '/api/auth/callback?code=x&state=x',
  '/API/AUTH/LOGOUT',
  '/api/%61uth/logout',
  '/%61%70%69/auth/logout',
  '/api/auth/../auth/logout',
  '/x/../api/auth/logout',
  '/./api/auth/logout',
  '/api/./auth/logout',
  '/api/x/%2e%2e/auth/logout',
  '/api/auth/%6cogout',
  '/api%2fauth%2flogout',
  '/api/auth%2flogout',
  '/api/auth\\logout',
  '/api/auth/logout#top',
  '/../../api/auth/logout',
] as const;

/** Too long for the cookie that would carry it, or for a header. */
const LONG = [
  `/${'a'.repeat(5000)}`,
  `//${'a'.repeat(5000)}.evil.example`,
  `/${'%2f'.repeat(2000)}evil.example`,
  `/${'../'.repeat(2000)}/evil.example`,
  `/%${'25'.repeat(3000)}2fevil.example`,
  `https://evil.example/${'b'.repeat(60_000)}`,
] as const;

/** Far more than 300 different payloads. None may lead anywhere but to a page of the application. */
export const OPEN_REDIRECT_PAYLOADS: readonly string[] = [
  ...new Set([
    ...PREFIXES.flatMap((prefix) => HOSTS.map((host) => `${prefix}${host}`)),
    ...PREFIXES.map((prefix) => `${prefix}evil.example/api/auth/../x`),
    ...SCRIPTS,
    ...INJECTIONS,
    ...SIGN_IN_ROUTES,
    ...LONG,
  ]),
];

/**
 * Returns where a browser on a page of `origin` goes with a `Location`, or null for a header that no response may
 * have: one with a control or non-ASCII character, or a backslash, which readers interpret differently.
 */
export function whereTo(location: string | null, origin: string): URL | null {
  if (location === null || !/^[\x21-\x5b\x5d-\x7e]+$/.test(location)) return null;
  const page = `${origin}/api/auth/login`;
  return URL.canParse(location, page) ? new URL(location, page) : null;
}
