/** How staff sign in at the control plane: component B, bound to the platform's own issuer (spec 1.B). */
import { createHmac } from 'node:crypto';
import type { ArrivedStaff, StaffRelyingParty } from '@freehold/control-plane';
import type { StaffSession } from '@freehold/directory';
import { makeRelyingParty, OidcError, type RelyingParty, type VerifiedSession } from '@freehold/oidc-rp';
import type { PlatformClient } from '../applications/sign-in.ts';
import { makeGuardedFetch } from '../network/guarded-fetch.ts';
import type { PlatformSecrets } from '../storage/secrets.ts';

export interface StaffSignInOptions {
  /** The client that the issuer knows this platform by, once there is one; null while nobody can sign in. */
  readonly client: () => PlatformClient | null;
  /** The control plane's, as browsers show it. */
  readonly origin: () => string;
  /** The first signs sessions, all verify them. */
  readonly platformSecrets: PlatformSecrets;
  /** See `GuardedFetchOptions.allowed`. */
  readonly allowedIssuers: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Answers the relying party of the moment. It is made once for an issuer and kept, because it holds that one's keys. */
export function makeStaffSignIn(options: StaffSignInOptions): () => StaffRelyingParty | null {
  let made: { readonly client: PlatformClient; readonly relyingParty: StaffRelyingParty } | null = null;
  return () => {
    const client = options.client();
    if (client?.clientId === undefined) return null;
    if (made?.client !== client)
      made = { client, relyingParty: adapted(relyingPartyOf(client, client.clientId, options)) };
    return made.relyingParty;
  };
}

function relyingPartyOf(
  { url, clientSecret }: PlatformClient,
  clientId: string,
  { origin, platformSecrets, allowedIssuers, now }: StaffSignInOptions,
): RelyingParty {
  return makeRelyingParty({
    env: {
      issuer: url,
      clientId,
      ...(clientSecret === undefined ? {} : { clientSecret }),
      sessionSecrets: platformSecrets.map(sessionSecretOf),
      baseUrl: origin(),
    },
    fetch: makeGuardedFetch({ ownIssuer: url, allowed: allowedIssuers }),
    now,
  });
}

/** A key of its own: what is signed with it is nothing at any other door that knows the platform secret. */
function sessionSecretOf(platformSecret: string): string {
  return createHmac('sha256', platformSecret).update('freehold.staff-session.v1').digest('hex');
}

function adapted(relyingParty: RelyingParty): StaffRelyingParty {
  return {
    handle: (request, { admit, signedOut }) =>
      relyingParty.handle(request, {
        onSignedIn: async ({ session, previous, issuerSid }) => {
          if (await admit(arrivedOf(session, previous, issuerSid))) return;
          throw new OidcError('sign_in_refused', 'The subject is not on the roster of the staff.');
        },
        onSignedOut: ({ session }) => signedOut(sessionOf(session)),
      }),
    handleBackchannelLogout: (request, end) =>
      relyingParty.handleBackchannelLogout(request, {
        onLogout: ({ issuer, sub, sid }) => end({ issuer, subject: sub, issuerSid: sid }),
      }),
    session: (headers) => {
      const session = relyingParty.verifiedSessionFromHeaders(headers);
      return session && sessionOf(session);
    },
  };
}

function arrivedOf(
  session: VerifiedSession,
  previous: VerifiedSession | null,
  issuerSid: string | undefined,
): ArrivedStaff {
  const { user, expiresAtMs } = session;
  return {
    session: sessionOf(session),
    previous: previous && sessionOf(previous),
    issuerSid: issuerSid ?? null,
    expiresAtMs,
    email: user.email ?? null,
    // Silence is no: an issuer that asserts nothing has verified nothing.
    emailVerified: user.emailVerified === true,
  };
}

function sessionOf({ sid, issuer, user }: VerifiedSession): StaffSession {
  return { sid, issuer, subject: user.id };
}
