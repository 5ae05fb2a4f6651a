/** The seam of sign-in (spec 1; A-04): an application lets no person in until it says that people sign in. */

/** The way in which an application finds the principal of a request. Made by {@link signedIn} or {@link unauthenticated}. */
export type AuthenticatedPrincipal =
  | { readonly kind: 'signed-in' }
  | {
      readonly kind: 'unauthenticated';
      /** The file and line of the declaration, such as `src/app.ts:14`; null where none is known. */
      readonly declaredAt: string | null;
    };

/**
 * People sign in as the instance is set: at an issuer, with accounts of the tenant's own directory, or by access tokens.
 * A person who is no member of the instance is refused.
 */
export function signedIn(): AuthenticatedPrincipal {
  return { kind: 'signed-in' };
}

/**
 * No person is let in: everything under `/api` answers 401, which names the line of this call. A new application has it
 * until its builder has decided.
 */
export function unauthenticated(): AuthenticatedPrincipal {
  return { kind: 'unauthenticated', declaredAt: callerOf(new Error('declared here')) };
}

/** The frame below this module, with the last two parts of its path: no folder of the machine is shown. */
function callerOf({ stack }: Error): string | null {
  const frame = stack?.split('\n').find((line, index) => index > 0 && !line.includes('unauthenticated'));
  const [, file, line] = /([^/\\(\s]+[/\\][^/\\(\s]+):(\d+):\d+\)?$/.exec(frame ?? '') ?? [];
  return file === undefined ? null : `${file.replaceAll('\\', '/')}:${line}`;
}
