/**
 * Audited changes without an admin operation: requests of people and programs to the platform itself, and its
 * scheduled work. Each goes through the host administration, as the platform's wiring does it.
 */
import { PlatformError, type PrincipalId, type ScopeId, type TenantId } from '@freehold/contracts';
import { CONTROL_PLANE } from '@freehold/directory';
import { STAFF_ISSUER } from '../../../packages/directory/test/platform.ts';
import { manifestOf } from '../../../packages/directory/test/registry.ts';
import { CHALLENGE, REDIRECT, VERIFIER } from '../../../packages/directory/test/staff.ts';
import type { OpenedPlatform } from './open.ts';

/** The acts by name: their action in the log, and the file of the directory that writes the row. */
export const acts = {
  'connections.connect': { action: 'connections.connect', writer: 'connections/feature.ts' },
  'connections.upkeep': { action: 'connections.upkeep', writer: 'connections/maintenance.ts' },
  'connections.upkeep (sweep)': { action: 'connections.upkeep', writer: 'connections/maintenance.ts' },
  'staff.bind': { action: 'staff.bind', writer: 'staff/sign-in.ts' },
  'staff-tokens.create (code)': { action: 'staff-tokens.create', writer: 'staff/codes.ts' },
  'staff-tokens.create (device)': { action: 'staff-tokens.create', writer: 'staff/codes.ts' },
  'staff-tokens.revoke (secret)': { action: 'staff-tokens.revoke', writer: 'staff/codes.ts' },
  'staff-programs.create': { action: 'staff-programs.create', writer: 'staff/programs.ts' },
  'staff-programs.end (issuer)': { action: 'staff-programs.end', writer: 'staff/programs.ts' },
  'staff-tokens.revoke (issuer)': { action: 'staff-tokens.revoke', writer: 'staff/codes.ts' },
  'staff.sign-out-everywhere': { action: 'staff.sign-out-everywhere', writer: 'staff/programs.ts' },
  'service-tokens.create (wiring)': { action: 'service-tokens.create', writer: 'tokens/service-tokens.ts' },
  'service-tokens.revoke (wiring)': { action: 'service-tokens.revoke', writer: 'tokens/service-tokens.ts' },
  'verticals.register-built-in': {
    action: 'verticals.register-built-in',
    writer: 'vertical-registry/built-in.ts',
  },
  'hostnames.recheck': { action: 'hostnames.recheck', writer: 'hostnames/maintenance.ts' },
  'backups.expire': { action: 'backups.expire', writer: 'backups/maintenance-expiry.ts' },
  /** The operation, in the name of a vertical that shows its own secret. */
  'tenants.create (vertical)': { action: 'tenants.create', writer: null },
} as const;

export type ActName = keyof typeof acts;

/** The arguments of an act. They are recorded with the call, so that the next process can repeat it. */
export type ActArgs = Readonly<Record<string, string>>;

interface How {
  readonly request: string;
  readonly key: string;
  /** Whether it was interrupted before: the caller then starts from its own first step. */
  readonly again: boolean;
}

type Performer = (platform: OpenedPlatform, args: ActArgs, how: How) => Promise<unknown>;

export function isAct(name: string): name is ActName {
  return Object.hasOwn(acts, name);
}

export function performAct(
  platform: OpenedPlatform,
  name: ActName,
  args: ActArgs,
  how: How,
): Promise<unknown> {
  return performers[name](platform, args, how);
}

const DESKTOP = { id: 'fh_client_desktop', secretHash: null };

/** Lets a program in for a member of the staff. */
function admitProgram(
  { staff }: OpenedPlatform['admin'],
  member: string,
  { requestId, host = '127.0.0.1' }: { readonly requestId: string; readonly host?: string },
) {
  return staff.programs.admit({
    member,
    client: { ...DESKTOP, kind: 'registered', metadata: '{}' },
    ...{ name: 'Desktop', host, allowed: { access: 'all' } },
    code: { redirectUri: REDIRECT, challenge: CHALLENGE },
    requestId,
  });
}

/** Lets a program in that gets its tokens, and returns the id of its grant. */
export async function connectProgram(
  { admin }: OpenedPlatform,
  member: string,
  host?: string,
): Promise<string> {
  const of = { requestId: 'req-let-in', ...(host === undefined ? {} : { host }) };
  const admitted = await admitProgram(admin, member, of);
  await admin.staff.programs.redeemCode({
    ...{ scopeId: CONTROL_PLANE, client: DESKTOP, redirectUri: null, verifier: VERIFIER },
    ...{ code: 'code' in admitted ? admitted.code : '', requestId: 'req-tokens' },
  });
  const [program] = await admin.staff.programs.list({ member });
  if (!program) throw new Error('the program is not listed');
  return program.id;
}

const act =
  <K extends string>(
    work: (platform: OpenedPlatform, args: Readonly<Record<K, string>>, how: How) => Promise<unknown>,
  ): Performer =>
  (platform, args, how) =>
    work(platform, args as Readonly<Record<K, string>>, how);

const HOUR_MS = 60 * 60 * 1000;
/** Longer than any lease that an earlier process may hold. */
const LEASES_MS = HOUR_MS;
/** Only backups of scopes that are reaped expire, after a day; nothing else is due. */
const ENDING = { everyMs: 1e15, keepDaily: 1, keepWeekly: 0 };

const performers: Readonly<Record<ActName, Performer>> = {
  'connections.connect': act<ConsentPlace | BrowserPart>(async (platform, args, { request, again }) =>
    // An answer is taken once: after an interruption the person connects again.
    endConsent(platform, again ? await beginConsent(platform, args) : args, request),
  ),
  'connections.upkeep': act<'tenant' | 'connection'>(async ({ admin }, ref) => {
    const isOver = (error: unknown): boolean =>
      error instanceof PlatformError && error.reason === 'connection_not_live';
    const refused = await admin.connections.use(ref).catch((error: unknown) => error);
    if (!isOver(refused)) throw refused;
  }),
  'connections.upkeep (sweep)': act(async (platform, _, { again }) => {
    if (again) platform.later(LEASES_MS);
    await drained(platform.admin.connections.sweep());
  }),
  'staff.bind': act<'login'>(({ admin }, { login }, { request }) => signIn(admin, login, request)),
  'staff-tokens.create (code)': act<'member'>(async ({ admin }, { member }, { request }) => {
    const client = { client: 'cli', redirectUri: REDIRECT };
    const { code } = await admin.staff.orderCode({ ...client, member, challenge: CHALLENGE });
    const told = await admin.staff.redeemCode({ ...client, code, verifier: VERIFIER, requestId: request });
    if ('refused' in told) throw new Error(`the code was refused: ${told.refused}`);
  }),
  'staff-tokens.create (device)': act<'member'>(async ({ admin }, { member }, { request }) => {
    const client = 'cli';
    const { deviceCode, userCode } = await admin.staff.startDevice({ client, source: null });
    await admin.staff.decideDevice({ member, userCode, decision: 'approve' });
    const told = await admin.staff.pollDevice({ deviceCode, client, requestId: request });
    if ('refused' in told) throw new Error(`the device was refused: ${told.refused}`);
  }),
  'staff-tokens.revoke (secret)': act<'secret'>(({ admin }, { secret }, { request }) =>
    admin.staff.revoke({ secret, requestId: request }),
  ),
  'staff-programs.create': act<'member'>(({ admin }, { member }, { request }) =>
    admitProgram(admin, member, { requestId: request }),
  ),
  'staff-programs.end (issuer)': act<'login'>(signOutAtIssuer),
  'staff-tokens.revoke (issuer)': act<'login'>(signOutAtIssuer),
  'staff.sign-out-everywhere': act<'member'>(({ admin }, { member }, { request }) =>
    admin.staff.programs.signOutEverywhere({ member, requestId: request }),
  ),
  'service-tokens.create (wiring)': act<'name'>(({ admin }, { name }) => admin.ensureServiceToken({ name })),
  'service-tokens.revoke (wiring)': act<'id'>(({ admin }, { id }) => admin.revokeServiceToken(id)),
  'verticals.register-built-in': act<'slug'>(({ admin }, { slug }) =>
    admin.registerBuiltIn({ manifest: manifestOf(slug, '1.0.0'), migrations: [] }),
  ),
  'hostnames.recheck': act<'hostname'>(async ({ admin }, { hostname }) => {
    for await (const { unit } of admin.hostnames.recheck()) if (unit === hostname) return;
    throw new Error('the name was not looked at');
  }),
  'backups.expire': act(async (platform, _, { again }) => {
    if (again) platform.later(LEASES_MS);
    await sweepBackups(platform, ENDING);
  }),
  'tenants.create (vertical)': act<'slug' | 'vertical'>(({ admin }, { slug, vertical }, { request, key }) =>
    admin.perform({
      operation: 'tenants.create',
      params: {},
      query: {},
      body: { slug, name: 'Made' },
      actor: { kind: 'vertical', id: vertical, name: vertical },
      requestId: request,
      idempotencyKey: key,
    }),
  ),
};

/** The place of a consent round, its provider, and the account there. */
export type ConsentPlace = 'tenant' | 'scope' | 'hostname' | 'provider' | 'account';
/** The parts that the person's browser brings back. */
type BrowserPart = 'back' | 'cookieName' | 'cookieValue';

type Consent = Readonly<Record<ConsentPlace | BrowserPart, string>>;

const PRINCIPAL = 'prn_01jd0000000000000000000001' as PrincipalId;

/** Runs a consent round up to the person's consent: only the provider's answer is missing. */
export async function beginConsent(
  { admin, providers }: OpenedPlatform,
  place: Readonly<Record<ConsentPlace, string>>,
): Promise<Consent> {
  const { tenant, scope, hostname, provider, account } = place;
  const { url } = await admin.connections.requestUrl({
    vertical: 'fieldwork',
    tenantId: tenant as TenantId,
    scopeId: scope as ScopeId,
    provider,
    createdBy: PRINCIPAL,
    subjectRef: 'team calendar',
    returnUrl: `https://${hostname}/settings`,
    ttlSeconds: 900,
  });
  const { location, cookie } = await admin.connections.start(new URL(url).pathname.split('/').at(-1) ?? '');
  const consentAt = providers[provider]?.consent;
  if (!cookie || !consentAt) throw new Error(`no browser was sent to ${provider}`);
  const back = consentAt(location, account).href;
  return { ...place, back, cookieName: cookie.name, cookieValue: cookie.value };
}

/** Delivers the provider's answer, and returns the connection that it makes. */
export async function endConsent(
  { admin }: OpenedPlatform,
  { provider, back, cookieName, cookieValue }: Readonly<Record<'provider' | BrowserPart, string>>,
  requestId: string,
): Promise<string> {
  const { location } = await admin.connections.finish({
    provider,
    parameters: new URL(back).searchParams,
    cookie: (name) => (name === cookieName ? cookieValue : undefined),
    requestId,
  });
  const connection = new URL(location).searchParams.get('connection');
  if (connection === null) throw new Error(`nothing was connected: ${new URL(location).search}`);
  return connection;
}

/** The issuer tells that a member of the staff signed out everywhere. */
function signOutAtIssuer(
  { admin }: OpenedPlatform,
  { login }: Readonly<Record<'login', string>>,
  { request: requestId }: How,
): Promise<void> {
  return admin.staff.endSessions({ issuer: STAFF_ISSUER, subject: `sub-${login}`, requestId });
}

/** A member of the staff comes back from the issuer, in a browser of their own. */
export async function signIn(
  admin: OpenedPlatform['admin'],
  login: string,
  requestId: string,
): Promise<void> {
  const outcome = await admin.staff.signIn({
    issuer: STAFF_ISSUER,
    subject: `sub-${login}`,
    email: `${login}@example.test`,
    emailVerified: true,
    sid: `sid-${login}-${requestId}`,
    issuerSid: null,
    expiresAtMs: Date.now() + HOUR_MS,
    requestId,
  });
  if ('refused' in outcome) throw new Error(`the sign-in was refused: ${outcome.refused}`);
}

/** Runs one sweep over the platform's own backups; it must not fail. */
export async function sweepBackups(
  { admin }: OpenedPlatform,
  policy: { readonly everyMs: number; readonly keepDaily: number; readonly keepWeekly: number },
): Promise<void> {
  const lines = await drained(admin.backups.sweep(policy, new AbortController().signal));
  const failed = lines.filter(({ outcome }) => outcome === 'failed');
  if (failed.length > 0) throw new Error(`the sweep failed: ${JSON.stringify(failed)}`);
}

async function drained<T>(lines: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const line of lines) all.push(line);
  return all;
}
