/** The client of the conformance modules, and the outcomes of its sign-ins. */

import type { FakeBehaviour, FakeUser } from '../../../testkit/src/oidc/fake-issuer.ts';
import {
  ALICE,
  APP,
  type Fixture,
  type FixtureOptions,
  makeFixture,
} from '../../../testkit/src/oidc/fixture.ts';
import type { OidcError, OidcErrorCode } from '../../src/lib/errors.ts';
import type { SessionUser } from '../../src/session.ts';

export interface Client extends Fixture {
  /** Returns the outcome of a response to a login or callback. */
  outcomeOf(response: Response): Outcome;
}

export interface Outcome {
  readonly location: string | null;
  /** The exact refusal: the verifier's error code and claim, or our own detail. Null when nothing was refused. */
  readonly because: string | null;
  /** Names of the session cookies that the browser holds. */
  readonly cookies: readonly string[];
  /** The user whom an application would see at the next request. */
  readonly user: SessionUser | null;
}

/** One deviation of the issuer during a sign-in. */
export interface Peculiarity {
  readonly behaviour?: FakeBehaviour;
  readonly user?: FakeUser;
  /** Changes the authorization response on its way through the browser. */
  readonly answer?: (parameters: URLSearchParams) => void;
}

/** A module that ends in a refusal; `fault` completes the sentence "the issuer …". */
export interface RefusedModule extends Peculiarity {
  readonly module: string;
  readonly fault: string;
  readonly because: string;
}

export async function makeClient(options: FixtureOptions = {}): Promise<Client> {
  const failures: OidcError[] = [];
  const fixture = await makeFixture({
    ...options,
    routes: { onSuccess: '/home', onError: '/sign-in', onFailure: (error) => failures.push(error) },
  });
  const { browser, rp } = fixture;
  return {
    ...fixture,
    outcomeOf: (response) => ({
      location: response.headers.get('location'),
      because: reasonOf(failures.at(-1)),
      cookies: ['sb_session', 'sb_oidc_idt'].filter((name) => browser.values(name).length > 0),
      user: rp.sessionFromHeaders(browser.request(`${APP}/page`).headers),
    }),
  };
}

/** Runs one whole sign-in. */
export async function signInWith(client: Client, peculiarity: Peculiarity = {}): Promise<Outcome> {
  Object.assign(client.issuer.behaviour, peculiarity.behaviour);
  const callback = new URL(
    await client.approve(peculiarity.user === undefined ? {} : { user: peculiarity.user }),
  );
  peculiarity.answer?.(callback.searchParams);
  return client.outcomeOf(await client.visit(callback.href));
}

/** Returns rows for `test.each` under a title of two `%s`, which are printed whole; `$module` would be cut short. */
export function titled<T extends { readonly module: string; readonly fault: string }>(
  modules: readonly T[],
): [module: string, fault: string, rest: T][] {
  return modules.map((row) => [row.module, row.fault, row]);
}

/** Returns the outcome of a refusal: a closed code, and no session. */
export function refused(code: OidcErrorCode, because: string): Outcome {
  return { location: `/sign-in?error=${code}`, because, cookies: [], user: null };
}

/** Returns the outcome of a sign-in that succeeds. Default: Alice, as her ID token describes her. */
export function signedIn(
  user: SessionUser = {
    id: ALICE.sub,
    email: 'alice@example.org',
    name: 'Alice Example',
    emailVerified: true,
  },
): Outcome {
  return { location: '/home', because: null, cookies: ['sb_session', 'sb_oidc_idt'], user };
}

/** Returns an issuer that changes claims before it signs; undefined omits one. */
export function claiming(change: Readonly<Record<string, unknown>>): FakeBehaviour {
  return { claims: (claims) => ({ ...claims, ...change }) };
}

/** Returns the exact refusal: the verifier’s error code and claim, or our own detail. */
export function reasonOf(error: OidcError | undefined): string | null {
  if (error === undefined) return null;
  const { cause } = error;
  if (!(cause instanceof Error) || !('code' in cause)) return error.detail;
  return 'claim' in cause ? `${cause.code} ${cause.claim}` : String(cause.code);
}
