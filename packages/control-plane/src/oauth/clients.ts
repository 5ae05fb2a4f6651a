/** The programs that may ask for a staff token: public clients, which every copy of a program is alike (RFC 8252, 8.5). */

/** What a consent page calls each of them. Anybody can say that they are one: a member consents to every token. */
const CLIENTS: Readonly<Record<string, string>> = {
  'freehold-cli': 'The Freehold command line',
  'freehold-mcp': 'A program that works with the staff tools',
};

/** A client's name for people, or undefined for one that is unknown. */
export function clientName(clientId: string | null): string | undefined {
  return clientId !== null && Object.hasOwn(CLIENTS, clientId) ? CLIENTS[clientId] : undefined;
}

/**
 * Whether a token may be sent there: the machine that the browser runs on, by its address and at any port (RFC 8252,
 * section 7.3). Not by name: `localhost` may be another machine's (section 8.3).
 */
export function isLoopbackRedirect(uri: string): boolean {
  const url = URL.canParse(uri) ? new URL(uri) : null;
  return (
    url?.protocol === 'http:' &&
    (url.hostname === '127.0.0.1' || url.hostname === '[::1]') &&
    url.username === '' &&
    url.password === '' &&
    !uri.includes('#') &&
    // As it was written, so that nothing about it is a matter of how it is read.
    /^http:\/\/(?:127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?:[/?][\x21-\x7e]*)?$/.test(uri)
  );
}

/** What only an answer to an authorization request may say (RFC 6749, section 4.1.2; RFC 9207). */
const ANSWERS = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri'];

/**
 * Whether an address already says something that an answer says: a program that reads the first of two codes would take
 * the one that whoever wrote the link put there (RFC 9700, section 4.5).
 */
export function holdsAnswer(redirectUri: string): boolean {
  const { searchParams } = new URL(redirectUri);
  return ANSWERS.some((name) => searchParams.has(name));
}
