/** Signs a person in at the development issuer, as a browser does. */
import type { Caller } from './http.ts';

/**
 * Goes from the application's sign-in link through the issuer's page and back.
 * @param origin the application's, `http://acme.localhost:1234`.
 * @param login the login of the person: `ada`.
 */
export async function signIn(caller: Caller, origin: string, login: string): Promise<void> {
  const { url, answer } = await caller.navigate(`${origin}/api/auth/login`);
  const action = /<form method="post" action="([^"]+)"/.exec(answer.text)?.[1];
  if (!action)
    throw new Error(
      `expected the issuer's sign-in page at ${url}, got ${answer.status}: ${answer.text.slice(0, 200)}`,
    );
  const back = await caller.navigate(new URL(action, url).href, { form: { login } });
  if (!back.url.startsWith(`${origin}/`) || back.url.includes('error='))
    throw new Error(`the sign-in ended at ${back.url}`);
}
