/** The three ways in to the same application, so that one suite can hold all of them to the same. */
import type { Mail } from '@freehold/auth';
import { expect } from 'vitest';
import { makeFakeIssuer } from '../../../packages/auth/test/fake-issuer.ts';
import { type House, openStreet, START_MS, type Street, type Visitor } from './street.ts';

/** Somebody at a door. The e-mail address is `<sub>@example.org`, and the issuer or the directory vouches for it. */
export interface WayIn {
  readonly street: Street;
  /** Proves to be somebody, and answers with what a client sends from then on. */
  credentialsOf(at: House, sub: string, name?: string): Promise<Record<string, string>>;
  /** The same, at the door. */
  enter(at: House, sub: string, name?: string): Promise<Visitor>;
}

export type Mode = 'hosted' | 'tokens' | 'directory';

/** Opens a street where people come in this way alone. */
export async function openWay(mode: Mode): Promise<WayIn> {
  const { street, credentialsOf } = await WAYS[mode]();
  return {
    street,
    credentialsOf,
    enter: async (at, sub, name = sub) => street.visitorWith(at, await credentialsOf(at, sub, name)),
  };
}

type Opened = Pick<WayIn, 'street'> & {
  readonly credentialsOf: (at: House, sub: string, name?: string) => Promise<Record<string, string>>;
};

const WAYS: Readonly<Record<Mode, () => Promise<Opened>>> = {
  hosted: async () => {
    const street = await openStreet();
    return {
      street,
      credentialsOf: async (at, sub, name = sub) => ({ cookie: await street.cookieOf(at, sub, name) }),
    };
  },

  tokens: async () => {
    const issuer = await makeFakeIssuer({ nowMs: START_MS });
    const bindings = { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: issuer.url };
    const street = await openStreet({ fetch: issuer.fetch as never }, { bindings, config: {} });
    return {
      street,
      credentialsOf: async (at, sub, name = sub) => {
        const iat = Math.floor(street.clock.nowMs / 1_000);
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
    const street = await openStreet({ mailer }, { bindings: { AUTH_PROVIDER: 'directory' }, config: {} });
    const signUp = async (at: House, email: string, name: string): Promise<string> => {
      await postForm(street, at, '/api/auth/sign-up', { email, name });
      const link = mails.findLast(({ to }) => to === email)?.text.match(/\?token=(\S+)/)?.[1];
      const done = await postForm(street, at, '/api/auth/sign-up/finish', {
        token: link ?? '',
        name,
        password: 'seven brass keys on a ring',
      });
      expect(done.status, await done.clone().text()).toBe(303);
      return cookiesIn(done);
    };
    return {
      street,
      credentialsOf: async (at, sub, name = sub) => ({
        cookie: await signUp(at, `${sub}@example.org`, name),
      }),
    };
  },
};

/** Sends a form as a page of the application's own does. */
export function postForm(
  street: Street,
  at: House,
  path: string,
  fields: Record<string, string>,
): Promise<Response> {
  return street.visitor(at).request('POST', path, new URLSearchParams(fields).toString(), {
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
