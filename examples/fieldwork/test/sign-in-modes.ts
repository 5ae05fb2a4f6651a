/** The three ways in to the same application, so that one suite can hold all of them to the same. */
import type { Mail } from '@freehold/auth';
import { expect } from 'vitest';
import { makeFakeIssuer } from '../../../packages/auth/test/fake-issuer.ts';
import { type Fixture, type Instance, openFixture, START_MS, type Visitor } from './fixture.ts';

/** A person at a sign-in. The e-mail address is `<sub>@example.org`, and the issuer or the directory vouches for it. */
export interface SignInMode {
  readonly fixture: Fixture;
  /** Signs in, and returns the headers that a client sends from then on. */
  credentialsOf(at: Instance, sub: string, name?: string): Promise<Record<string, string>>;
  /** The same, at the door. */
  enter(at: Instance, sub: string, name?: string): Promise<Visitor>;
}

export type Mode = 'hosted' | 'tokens' | 'directory';

/** Opens a street where people come in this way alone. */
export async function openMode(mode: Mode): Promise<SignInMode> {
  const { fixture, credentialsOf } = await SIGN_IN_MODES[mode]();
  return {
    fixture,
    credentialsOf,
    enter: async (at, sub, name = sub) => fixture.visitorWith(at, await credentialsOf(at, sub, name)),
  };
}

type Opened = Pick<SignInMode, 'fixture'> & {
  readonly credentialsOf: (at: Instance, sub: string, name?: string) => Promise<Record<string, string>>;
};

const SIGN_IN_MODES: Readonly<Record<Mode, () => Promise<Opened>>> = {
  hosted: async () => {
    const fixture = await openFixture();
    return {
      fixture,
      credentialsOf: async (at, sub, name = sub) => ({ cookie: await fixture.cookieOf(at, sub, name) }),
    };
  },

  tokens: async () => {
    const issuer = await makeFakeIssuer({ nowMs: START_MS });
    const bindings = { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: issuer.url };
    const fixture = await openFixture({ fetch: issuer.fetch as never }, { bindings, config: {} });
    return {
      fixture,
      credentialsOf: async (at, sub, name = sub) => {
        const iat = Math.floor(fixture.clock.nowMs / 1_000);
        const email = `${sub}@example.org`;
        const token = await issuer.sign({
          ...{ iss: issuer.url, aud: at.origin, client_id: 'program', iat, exp: iat + 3_600 },
          ...{ sub, name, email, email_verified: true },
        });
        return { authorization: `Bearer ${token}` };
      },
    };
  },

  directory: async () => {
    const mails: Mail[] = [];
    const mailer = { send: async (mail: Mail) => void mails.push(mail) };
    const fixture = await openFixture({ mailer }, { bindings: { AUTH_PROVIDER: 'directory' }, config: {} });
    const signUp = async (at: Instance, email: string, name: string): Promise<string> => {
      await postForm(fixture, at, '/api/auth/sign-up', { email, name });
      const link = mails.findLast(({ to }) => to === email)?.text.match(/\?token=(\S+)/)?.[1];
      const done = await postForm(fixture, at, '/api/auth/sign-up/finish', {
        token: link ?? '',
        name,
        password: 'seven brass keys on a ring',
      });
      expect(done.status, await done.clone().text()).toBe(303);
      return cookiesIn(done);
    };
    return {
      fixture,
      credentialsOf: async (at, sub, name = sub) => ({
        cookie: await signUp(at, `${sub}@example.org`, name),
      }),
    };
  },
};

/** Sends a form as a page of the application's own does. */
export function postForm(
  fixture: Fixture,
  at: Instance,
  path: string,
  fields: Record<string, string>,
): Promise<Response> {
  return fixture.visitor(at).request('POST', path, new URLSearchParams(fields).toString(), {
    'content-type': 'application/x-www-form-urlencoded',
    origin: at.origin,
    accept: 'text/html',
  });
}

/** The cookies that a response sets, as a browser sends them back. */
export function cookiesIn(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0] ?? '')
    .filter((pair) => !pair.endsWith('='))
    .join('; ');
}
