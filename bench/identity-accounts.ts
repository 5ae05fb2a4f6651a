/** An instance with accounts in its tenant's directory, and people who sign in with a password. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import {
  doAuthProvider,
  type IdentityDirectory,
  identityDirectory,
  type PasswordHasher,
} from '@freehold/auth';
import { openNodeEngine } from '@freehold/engine-node';
import { scopeIdOf, tenantId } from './notes.ts';

const ORIGIN = 'https://app.example.test';
const PASSWORD = 'three blind mice in a row';

export interface Accounts {
  readonly directory: IdentityDirectory;
  /** Makes an account. Without a hash it gets one of the password that `signIn` uses. */
  add(email: string, passwordHash?: string): Promise<void>;
  /** Posts the form, as a browser does. */
  signIn(email: string, password?: string): Promise<Response>;
  close(): Promise<void>;
}

/** @param hasher default: the provider's own. */
export function openAccounts(dataDirectory: string, hasher?: PasswordHasher): Accounts {
  const scopeId = scopeIdOf(0);
  const onIncident = (error: unknown): void => console.error(error);
  const engine = openNodeEngine({ dataDirectory: join(dataDirectory, 'accounts'), onIncident });
  const directory = engine.unit(identityDirectory, tenantId, { create: true });
  const provider = doAuthProvider({
    tenantId,
    scopeId,
    directory,
    sessionSecret: randomBytes(32).toString('base64url'),
    mailer: { send: async () => undefined },
    onIncident,
    ...(hasher === undefined ? {} : { passwordHasher: hasher }),
  });
  const signUp = async (email: string): Promise<void> => {
    const made = await directory.beginSignUp({ scopeId, email });
    if (made.outcome !== 'made') throw new Error(`the sign-up of ${email} is ${made.outcome}`);
    const response = await post('sign-up/finish', { token: made.token, password: PASSWORD });
    if (response.status !== 303) throw new Error(`the sign-up of ${email} ended with ${response.status}`);
  };
  const post = (path: string, form: Record<string, string>): Promise<Response> =>
    provider.handle(
      new Request(`${ORIGIN}/api/auth/${path}`, {
        method: 'POST',
        headers: { origin: ORIGIN, 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams(form),
      }),
    );
  return {
    directory,
    add: async (email, passwordHash) => {
      if (passwordHash === undefined) await signUp(email);
      else await directory.importAccount({ email, emailVerified: true, passwordHash });
    },
    signIn: (email, password = PASSWORD) => post('login', { email, password }),
    close: () => engine.close(),
  };
}

/** Returns the stored hash of an account. Counts as an attempt. */
export async function storedHash({ directory }: Accounts, email: string): Promise<string> {
  const begun = await directory.beginPassword({ scopeId: scopeIdOf(0), email });
  if (begun.outcome !== 'judge' || begun.hash === null) throw new Error(`${email} has no password`);
  return begun.hash;
}
