/** The routes of signing in: those of the instance's provider. */
import type { AppContext, SignIn } from '../declaration/env.ts';
import { requireNode } from './caller.ts';

/** Everything below it is the sign-in's. */
export const SIGN_IN_BASE = '/api/auth/';

export function answerSignIn(signIn: SignIn, c: AppContext): Promise<Response> {
  const { origin } = requireNode(c);
  const { pathname, search } = new URL(c.req.url);
  // The redirect address is built from the origin that the browser sees, which a proxy may have hidden.
  const request = new Request(`${origin}${pathname}${search}`, c.req.raw);
  return signIn.handle(request, { clientAddress: c.env.clientAddress ?? null });
}
