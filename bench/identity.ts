/**
 * The cost of identifying a caller: on every signed-in request (the session, the access token, the principal) and at a
 * sign-in (the password). Each beside the bare primitive and beside peers. The aim: faster than every peer, and at
 * most half as long again as the bare primitive.
 */
import type { Row } from './harness.ts';
import { benchAccessTokens } from './identity-access-tokens.ts';
import { benchGuesses } from './identity-guesses.ts';
import { benchPasswords } from './identity-passwords.ts';
import { benchResolution } from './identity-resolution.ts';
import { benchSessions } from './identity-sessions.ts';

export async function benchIdentity(directory: string): Promise<Row[]> {
  return [
    ...(await benchSessions()),
    ...(await benchAccessTokens()),
    ...(await benchResolution(directory)),
    ...(await benchPasswords(directory)),
    ...(await benchGuesses(directory)),
  ];
}
