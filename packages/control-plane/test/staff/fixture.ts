/** The API with its staff, over the real host administration, in a directory of its own and with a clock that only tests move. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DirectoryHostAdmin, makeHostAdmin } from '@freehold/directory';
import type { AdminLogEntry, RosterRole, StaffRecord, TenantRecord } from '@freehold/directory/declarations';
import { onTestFinished } from 'vitest';
import { openTestEngine } from '../../../testkit/src/index.ts';
import {
  type ControlPlaneOptions,
  controlPlaneApp,
  type StaffOptions,
  type StaffRelyingParty,
} from '../../src/index.ts';

export const ORIGIN = 'http://api.localhost:8787';
export const ISSUER = 'https://id.example.test';

export interface Fixture {
  readonly hostAdmin: DirectoryHostAdmin;
  readonly clock: { ms: number };
  readonly incidents: unknown[];
  /** A service token. */
  readonly secret: string;
  send(request: Request): Promise<Response>;
  /** To a path of the API. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** A form, as a program sends it: without cookies and without an origin. */
  post(
    path: string,
    form: Record<string, string> | URLSearchParams,
    headers?: Record<string, string>,
  ): Promise<Response>;
  tenant(slug: string): Promise<TenantRecord>;
  /** @param tenant of a builder. */
  invite(login: string, role: RosterRole, tenant?: string): Promise<StaffRecord>;
  adminLog(): Promise<AdminLogEntry[]>;
}

/**
 * @param relyingParty default: one that believes a cookie `who=<login>`, for tests that are about what comes after.
 */
export async function openFixture(
  options: Partial<ControlPlaneOptions> & {
    readonly relyingParty?: (clock: { ms: number }) => () => StaffRelyingParty | null;
    readonly fetchDocument?: StaffOptions['fetchDocument'];
    /** Default: {@link ISSUER}. */
    readonly staffIssuer?: string;
  } = {},
): Promise<Fixture> {
  const { relyingParty = () => () => cookieParty, fetchDocument, staffIssuer = ISSUER, ...more } = options;
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-staff-'));
  const clock = { ms: Date.parse('2026-11-21T08:00:00.000Z') };
  const incidents: unknown[] = [];
  const world = {
    now: () => clock.ms,
    random: randomBytes,
    onIncident: (error: unknown) => void incidents.push(error),
  };
  const engine = openTestEngine({ dataDirectory, ...world });
  onTestFinished(async () => {
    await engine.close();
    rmSync(dataDirectory, { recursive: true, force: true });
  });
  const gateway = { bound: () => null, local: () => null };
  const hostAdmin = makeHostAdmin({ engine, gateway, staffIssuer, ...world });
  const { secret } = await hostAdmin.mintServiceToken({ name: 'tests' });
  let requests = 0;
  const app = controlPlaneApp({
    hostAdmin,
    ...world,
    newRequestId: () => `req_${++requests}`,
    origin: () => ORIGIN,
    staff: {
      signIns: hostAdmin.staff,
      relyingParty: relyingParty(clock),
      ...(fetchDocument ? { fetchDocument } : {}),
    },
    ...more,
  });
  const send = async (request: Request): Promise<Response> => app.fetch(request);
  const ask: Fixture['ask'] = (path, init) => send(new Request(new URL(path, ORIGIN), init));
  const call = async (path: string, init: RequestInit = {}): Promise<unknown> => {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    return (await ask(path, { ...init, headers })).json();
  };
  return {
    hostAdmin,
    clock,
    incidents,
    secret,
    send,
    ask,
    post: (path, form, headers = {}) =>
      ask(path, { method: 'POST', headers, body: new URLSearchParams(form) }),
    tenant: async (slug) =>
      (await call('/tenants', {
        method: 'POST',
        body: JSON.stringify({ slug, name: slug }),
      })) as TenantRecord,
    invite: async (login, role, tenant) =>
      (await call('/staff', {
        method: 'PUT',
        body: JSON.stringify({ email: `${login}@example.test`, name: login, role, tenant }),
      })) as StaffRecord,
    adminLog: async () =>
      ((await call('/admin-log?limit=200')) as { items: AdminLogEntry[] }).items.reverse(),
  };
}

/** The session that a cookie `who=<login>` is, without any proof. */
const cookieParty: StaffRelyingParty = {
  handle: () => Promise.reject(new Error('there is no sign-in in this test')),
  handleBackchannelLogout: () => Promise.reject(new Error('there is no sign-out in this test')),
  session: (headers) => {
    const login = /who=(\w+)/.exec(headers.get('cookie') ?? '')?.[1];
    return login === undefined ? null : { sid: `sid-${login}`, issuer: ISSUER, subject: login };
  },
};

/** Puts a person on the roster and signs them in; their cookie is `who=<login>`. */
export async function signedIn(
  fixture: Fixture,
  login: string,
  role: RosterRole,
  tenant?: string,
): Promise<StaffRecord> {
  const member = await fixture.invite(login, role, tenant);
  await fixture.hostAdmin.staff.signIn({
    sid: `sid-${login}`,
    issuer: ISSUER,
    subject: login,
    email: `${login}@example.test`,
    emailVerified: true,
    issuerSid: null,
    expiresAtMs: fixture.clock.ms + 7 * 24 * 60 * 60 * 1000,
    requestId: 'req_in',
  });
  return member;
}

/** The headers of a browser with a form of our own pages. */
export const ownPage = (login: string) => ({ cookie: `who=${login}`, 'sec-fetch-site': 'same-origin' });

export const VERIFIER = 'a-verifier-of-the-tests_0123456789.abcdefghij~';
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

export const authorization = {
  response_type: 'code',
  client_id: 'freehold-cli',
  redirect_uri: 'http://127.0.0.1:4711/callback',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
  state: 'of the program',
} as const;

/** An authorization that a member allows, as far as the code. */
export async function allow(
  fixture: Fixture,
  login: string,
  more: Record<string, string> = {},
): Promise<string> {
  const response = await fixture.post(
    '/oauth/authorize',
    { ...authorization, ...more, decision: 'allow' },
    ownPage(login),
  );
  const code = new URL(response.headers.get('location') ?? '').searchParams.get('code');
  if (code === null) throw new Error('there is no code');
  return code;
}

export const exchange = (code: string) => ({
  grant_type: 'authorization_code',
  client_id: 'freehold-cli',
  redirect_uri: authorization.redirect_uri,
  code_verifier: VERIFIER,
  code,
});

/** A staff token, as a program gets it. */
export async function tokenOf(fixture: Fixture, login: string): Promise<string> {
  const response = await fixture.post('/oauth/token', exchange(await allow(fixture, login)));
  return ((await response.json()) as { access_token: string }).access_token;
}
