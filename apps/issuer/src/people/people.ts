/** The people of the development issuer: a seeded handful, and one for every other login name. */

/** A person who can sign in. The login name is the subject: readable in logs, the same after a restart. */
export interface Person {
  /** `sub` and `preferred_username`, matching {@link loginPattern}. */
  readonly login: string;
  readonly name: string;
  readonly email: string;
  readonly emailVerified: boolean;
}

/** The form of a login name. Also sent to the browser as an input's `pattern`. */
export const loginPattern = '[a-z][a-z0-9\\-]{1,30}';

/** `.test` is reserved (RFC 6761), so no mail can ever leave for one of these addresses. */
const emailDomain = 'example.test';

const login = new RegExp(`^${loginPattern}$`);

/** The default people. One has an unverified address, so that both cases can be tried. */
export const seededPeople: readonly Person[] = [
  { login: 'ada', name: 'Ada Lovelace', email: `ada@${emailDomain}`, emailVerified: true },
  { login: 'grace', name: 'Grace Hopper', email: `grace@${emailDomain}`, emailVerified: true },
  { login: 'linus', name: 'Linus Torvalds', email: `linus@${emailDomain}`, emailVerified: true },
  { login: 'margaret', name: 'Margaret Hamilton', email: `margaret@${emailDomain}`, emailVerified: true },
  { login: 'edsger', name: 'Edsger Dijkstra', email: `edsger@${emailDomain}`, emailVerified: false },
];

/**
 * Returns the person with a login name: a known one, or one made from the name alone, which stores nothing and is the
 * same person after a restart. Undefined when the name is no login name.
 */
export function findPerson(people: readonly Person[], loginName: string): Person | undefined {
  const known = people.find((person) => person.login === loginName);
  if (known !== undefined) return known;
  if (!login.test(loginName)) return undefined;
  return {
    login: loginName,
    name: displayName(loginName),
    email: `${loginName}@${emailDomain}`,
    emailVerified: true,
  };
}

/** Returns the claims of a person in a token or userinfo (OpenID Connect Core, section 5.1). */
export function claimsOf(person: Person) {
  return {
    sub: person.login,
    name: person.name,
    preferred_username: person.login,
    email: person.email,
    email_verified: person.emailVerified,
  };
}

/**
 * Returns the login name of a `login_hint` (OpenID Connect Core 3.1.2.1), given as a login name or an e-mail address;
 * undefined when no person here has it.
 */
export function loginOfHint(people: readonly Person[], hint: string): string | undefined {
  const wanted = hint.trim().toLowerCase();
  const known = people.find((person) => person.login === wanted || person.email.toLowerCase() === wanted);
  if (known !== undefined) return known.login;
  const name = wanted.endsWith(`@${emailDomain}`) ? wanted.slice(0, -emailDomain.length - 1) : wanted;
  return login.test(name) ? name : undefined;
}

function displayName(loginName: string): string {
  return loginName
    .split('-')
    .filter((part) => part !== '')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join(' ');
}
