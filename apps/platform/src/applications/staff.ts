/**
 * The options of the control plane for its own address, its staff and its reference. Staff sign in at the issuer of the
 * platform, through component B (spec 1.B).
 */

import { createHmac } from 'node:crypto';
import type { ArrivedStaff, ControlPlaneOptions, StaffRelyingParty } from '@freehold/control-plane';
import type { DirectoryHostAdmin, StaffSession } from '@freehold/directory';
import { makeRelyingParty, OidcError, type RelyingParty, type VerifiedSession } from '@freehold/oidc-rp';
import type { OwnAddresses } from '../network/addresses.ts';
import { makeGuardedFetch } from '../network/guarded-fetch.ts';
import type { Settings } from '../settings/settings.ts';
import { type SecondFactorSettings, showsFactor, wordsOfFactors } from '../settings/staff-settings.ts';
import type { PlatformSecrets } from '../storage/secrets.ts';
import type { PlatformClient } from './verticals.ts';

export interface StaffWiring {
  readonly settings: Pick<Settings, 'allowedIssuers' | 'staffContact' | 'staff'>;
  readonly addresses: OwnAddresses;
  readonly hostAdmin: Pick<DirectoryHostAdmin, 'staff'>;
  readonly platformSecrets: PlatformSecrets;
  readonly now: () => number;
  /** The client that the issuer knows this platform by. */
  readonly issuerClient: PlatformClient | null;
}

export function staffOptions({
  settings,
  addresses,
  hostAdmin,
  platformSecrets,
  now,
  issuerClient,
}: StaffWiring): Pick<ControlPlaneOptions, 'origin' | 'hostnames' | 'staff'> {
  const { apiOrigin, apiHostnames } = addresses;
  const { allowedIssuers, staffContact, staff } = settings;
  const { secondFactor } = staff;
  return {
    origin: apiOrigin,
    hostnames: apiHostnames,
    staff: {
      signIns: hostAdmin.staff,
      relyingParty: makeStaffSignIn({
        client: issuerClient,
        origin: apiOrigin,
        platformSecrets,
        allowedIssuers,
        secondFactor,
        now,
      }),
      sealingSecrets: platformSecrets.map(programSecretOf),
      fetchDocument: makeGuardedFetch({ ownIssuer: null, allowed: allowedIssuers }),
      ...(secondFactor === null ? {} : { secondFactor: wordsOfFactors(secondFactor.accepted) }),
      ...(staffContact === undefined ? {} : { contact: staffContact }),
    },
  };
}

interface StaffSignInOptions {
  /** The client that the issuer knows this platform by; null where no sign-in is possible. */
  readonly client: PlatformClient | null;
  /** The control plane's, as browsers show it. */
  readonly origin: () => string;
  /** The first signs sessions, all verify them. */
  readonly platformSecrets: PlatformSecrets;
  /** See `GuardedFetchOptions.allowed`. */
  readonly allowedIssuers: readonly string[];
  /** Null: none is demanded. */
  readonly secondFactor: SecondFactorSettings | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The relying party; null where no sign-in is possible. It is made once, because it caches the keys of the issuer. */
export function makeStaffSignIn(options: StaffSignInOptions): () => StaffRelyingParty | null {
  const { client } = options;
  const clientId = client?.clientId;
  if (!client || clientId === undefined) return () => null;
  let made: StaffRelyingParty | null = null;
  return () => {
    // At the first request: with port 0 the own origin is known only when the platform listens.
    made ??= adapted(relyingPartyOf(client, clientId, options), options.secondFactor);
    return made;
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

/** A key of its own, so that its signatures are valid nowhere else where the platform secret is known. */
function sessionSecretOf(platformSecret: string): string {
  return createHmac('sha256', platformSecret).update('freehold.staff-session.v1').digest('hex');
}

function programSecretOf(platformSecret: string): string {
  return createHmac('sha256', platformSecret).update('freehold.staff-programs.v1').digest('hex');
}

function adapted(relyingParty: RelyingParty, secondFactor: SecondFactorSettings | null): StaffRelyingParty {
  return {
    handle: (request, { admit, signedOut }) =>
      relyingParty.handle(request, {
        onSignedIn: async ({ session, previous, issuerSid, idToken }) => {
          const arrived = arrivedOf(session, previous, issuerSid);
          if (await admit({ ...arrived, ...factorOf(idToken, secondFactor) })) return;
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
    // An issuer that asserts nothing has verified nothing.
    emailVerified: user.emailVerified === true,
  };
}

function factorOf(
  idToken: string,
  settings: SecondFactorSettings | null,
): Pick<ArrivedStaff, 'secondFactor'> {
  if (settings === null) return {};
  const { demand, accepted } = settings;
  return { secondFactor: { demand, shown: showsFactor(claimsOf(idToken), accepted) } };
}

/** The claims of an ID token that the relying party has verified. */
function claimsOf(idToken: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString('utf8'));
}

function sessionOf({ sid, issuer, user }: VerifiedSession): StaffSession {
  return { sid, issuer, subject: user.id };
}
