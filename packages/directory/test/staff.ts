/** Members of the roster for tests: on the roster, signed in, with programs that hold tokens. */
import { createHash } from 'node:crypto';
import type { RosterRole, StaffRecord, StaffTokenRecord } from '../src/admin-operations.ts';
import { CONTROL_PLANE, type DirectoryHostAdmin } from '../src/index.ts';
import { STAFF_ISSUER as ISSUER, type Platform } from './platform.ts';

export { ISSUER };

const WEEK_MS = 7 * 24 * 60 * 60 * 1000;
export const VERIFIER = 'a-verifier-of-the-tests.forty-three-characters-and-more';
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
export const REDIRECT = 'http://127.0.0.1:4711/callback';

type Entry = Parameters<DirectoryHostAdmin['staff']['signIn']>[0];

/** A person comes back from the issuer. Their address is their login name's, and verified. */
export function signIn(platform: Platform, login: string, more: Partial<Entry> = {}) {
  return platform.admin.staff.signIn({
    issuer: ISSUER,
    subject: `sub-${login}`,
    email: `${login}@example.test`,
    emailVerified: true,
    sid: `sid-${login}`,
    issuerSid: `at-issuer-${login}`,
    expiresAtMs: platform.clock.ms + WEEK_MS,
    requestId: 'req-sign-in',
    ...more,
  });
}

/** The session that {@link signIn} began, as its cookie tells it. */
export const sessionOf = (login: string) => ({
  sid: `sid-${login}`,
  issuer: ISSUER,
  subject: `sub-${login}`,
});

export interface Invited {
  readonly login: string;
  readonly role: RosterRole;
  /** Of a builder. */
  readonly tenant?: string;
}

export function invite(platform: Platform, { login, ...what }: Invited): Promise<StaffRecord> {
  return platform.value('staff.put', { body: { email: `${login}@example.test`, name: login, ...what } });
}

/** On the roster and signed in. */
export async function staffMember(platform: Platform, who: Invited): Promise<StaffRecord> {
  const { id } = await invite(platform, who);
  const outcome = await signIn(platform, who.login);
  if ('refused' in outcome) throw new Error(`the sign-in was refused: ${outcome.refused}`);
  return platform.value('staff.get', { params: { member: id } });
}

export function orderCode(platform: Platform, member: string) {
  return platform.admin.staff.orderCode({
    member,
    client: 'cli',
    redirectUri: REDIRECT,
    challenge: CHALLENGE,
  });
}

export function redeem(
  platform: Platform,
  code: string,
  more: { readonly client?: string; readonly redirectUri?: string; readonly verifier?: string } = {},
) {
  return platform.admin.staff.redeemCode({
    code,
    client: 'cli',
    redirectUri: REDIRECT,
    verifier: VERIFIER,
    requestId: 'req-token',
    ...more,
  });
}

/** A program of a member's that has been given a token. */
export async function staffToken(
  platform: Platform,
  member: string,
): Promise<StaffTokenRecord & { readonly secret: string }> {
  const { code } = await orderCode(platform, member);
  const outcome = await redeem(platform, code);
  if ('refused' in outcome) throw new Error(`the code was refused: ${outcome.refused}`);
  const { items } = await platform.value<{ items: StaffTokenRecord[] }>('staff-tokens.list', {
    query: { member },
  });
  const record = items.at(-1);
  if (!record) throw new Error('the token is not listed');
  return { ...record, secret: outcome.token.secret };
}

/** A registered program without a secret. */
export const DESKTOP = { id: 'fh_client_desktop', secretHash: null };

/** A member lets a program in. Returns its tokens, and the id of its grant. */
export async function letProgramIn({ admin }: Pick<Platform, 'admin'>, member: string) {
  const { programs } = admin.staff;
  const requestId = 'req-let-in';
  const admitted = await programs.admit({
    member,
    client: { ...DESKTOP, kind: 'registered', metadata: '{}' },
    ...{ name: 'Desktop', host: '127.0.0.1', allowed: { access: 'all' } },
    code: { redirectUri: REDIRECT, challenge: CHALLENGE },
    requestId,
  });
  if ('refused' in admitted) throw new Error(`the program was refused: ${admitted.refused}`);
  const answer = await programs.redeemCode({
    ...{ scopeId: CONTROL_PLANE, client: DESKTOP, code: admitted.code, redirectUri: null },
    ...{ verifier: VERIFIER, requestId },
  });
  if (answer.outcome !== 'issued') throw new Error('the code was refused');
  const [listed] = await programs.list({ member });
  return { access: answer.accessToken, refresh: answer.refreshToken, id: listed?.id ?? '' };
}
