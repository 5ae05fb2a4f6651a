/**
 * Two tenants with everything that a tenant can have, and everybody who may come to the signIns: what the access matrix and
 * the fuzzer go over. Fields of requests are filled in by their names, so that a new operation needs no line here.
 */
import { PLATFORM_SECRET_HEADER } from '@freehold/contracts';
import { verticalSecret } from '@freehold/contracts/http';
import type { AdminOperation } from '@freehold/directory/declarations';
import { makeKeyring } from '@freehold/store';
import fc from 'fast-check';
import { z } from 'zod';
import { makeHostnameWorld } from '../../../directory/test/hostname-probes.ts';
import { makeKeyProvider } from '../../../directory/test/key-provider.ts';
import { makeMemoryBackups } from '../../../directory/test/memory-backups.ts';
import { openPlatform, type Platform } from '../../../directory/test/platform.ts';
import {
  chattyTelemetry,
  makeRuntimeDouble,
  manifestOf,
  openApp,
  quietEgress,
} from '../../../directory/test/registry.ts';
import { ISSUER, letProgramIn, staffMember, staffToken } from '../../../directory/test/staff.ts';
import { EVENT, INVOCATION } from '../../../directory/test/vertical-double.ts';
import { controlPlaneApp } from '../../src/app.ts';
import { strictInput } from '../../src/declared/operations.ts';
import { valuesOf } from './from-schema.ts';
import { partsOf, requestOf } from './requests.ts';

/** The secret of each tenant's vertical. */
const SECRET_NAME = 'PAYMENT_KEY';
const DAY_MS = 24 * 60 * 60 * 1000;

/** The values of a field of this name in a fixture. */
export type Names = Readonly<Record<string, string>>;

export interface TenantFixture {
  readonly names: Names;
  /** Its builders: software, a person with a browser, and a person's program. */
  readonly builders: Readonly<
    Record<'a push token' | 'a builder session' | 'a builder’s program', Credential>
  >;
}

/** The headers of each sender. */
export type Credential = Readonly<Record<string, string>>;

export const ROLES = ['admin', 'operator', 'auditor'] as const;
type ByRole = Readonly<Record<(typeof ROLES)[number], Credential>>;

export interface Fixture {
  readonly platform: Platform;
  readonly incidents: unknown[];
  readonly ours: TenantFixture;
  readonly theirs: TenantFixture;
  /** A fixture without any thing: every id is well formed, and belongs to no thing. */
  readonly nowhere: Names;
  readonly credentials: {
    readonly service: Credential;
    /** Of the staff, by role: their sessions, and the tokens of their programs. */
    readonly sessions: ByRole;
    readonly programs: ByRole;
    /** Verticals: with every grant, with none, and one without a secret. */
    readonly verticals: Readonly<Record<'granted' | 'ungranted' | 'forged', Credential>>;
    /** Callers without an identity, or with one that ended. */
    readonly anonymous: Readonly<Record<string, Credential>>;
  };
  build(slug: string): Promise<TenantFixture>;
  send(request: Request): Promise<Response>;
  /** The head of the admin log. */
  logged(): Promise<number>;
}

/** The secret from which those of verticals are derived. */
const PLATFORM_SECRET = 'the platform secret of the fixture, long enough';

/** The secret of a vertical: every house has one, with every grant. */
export const asVertical = async (slug: string, master = PLATFORM_SECRET): Promise<Credential> => ({
  [PLATFORM_SECRET_HEADER]: await verticalSecret(master, slug),
});

export const bearer = (token: string): Credential => ({ authorization: `Bearer ${token}` });

/** Opens it. @param onEnd registers its closing. Default: when the present test has finished. */
export async function openFixture(onEnd?: (close: () => Promise<void>) => void): Promise<Fixture> {
  const backups = makeMemoryBackups();
  const options = {
    backups,
    runtime: makeRuntimeDouble(),
    sealing: makeKeyring(['k'.repeat(43)]),
    egress: quietEgress,
    telemetry: chattyTelemetry,
    alertsTest: async () => [{ channel: 'mail', sent: true, detail: null }],
    connections: makeKeyProvider().options,
    hostnames: makeHostnameWorld().probes,
  };
  const platform = await openPlatform(options, onEnd);
  // A worker, and a host in this process that opens snapshots.
  platform.reach = 'both';
  await platform.admin.registerBuiltIn({ manifest: manifestOf('fieldwork', '1.0.0'), migrations: [] });
  const incidents: unknown[] = [];
  let requests = 0;
  const app = controlPlaneApp({
    hostAdmin: platform.admin,
    onIncident: (error) => incidents.push(error),
    now: () => platform.clock.ms,
    newRequestId: () => `req_${++requests}`,
    rateLimit: null,
    platformSecret: PLATFORM_SECRET,
    origin: () => 'https://control.example',
    staff: {
      signIns: platform.admin.staff,
      relyingParty: () => ({
        handle: () => Promise.reject(new Error('there is no sign-in in this test')),
        handleBackchannelLogout: () => Promise.reject(new Error('there is no sign-out in this test')),
        session: (headers) => {
          const login = /who=([a-z0-9-]+)/.exec(headers.get('cookie') ?? '')?.[1];
          return login === undefined
            ? null
            : { sid: `sid-${login}`, issuer: ISSUER, subject: `sub-${login}` };
        },
      }),
    },
  });
  const anonymous = await makeAnonymouss(platform);
  // One for the whole street: the directory does one such work at a time.
  const { result } = await platform.finish(platform.call('directory-backups.create', { body: {} }));
  const directoryBackup = (result as { id: string }).id;
  const build = (slug: string) => buildTenant(platform, slug, directoryBackup);
  const [ours, theirs] = [await build('ours'), await build('theirs')];
  await platform.call('roles.put', {
    params: { key: 'support' },
    body: { name: 'Support', permissions: ['order.read'] },
  });
  await platform.call('verticals.create', { body: { slug: 'ungranted', name: 'Ungranted' } });
  const sessions: Record<string, Credential> = {};
  const programs: Record<string, Credential> = {};
  for (const role of ROLES) {
    const member = await staffMember(platform, { login: `the-${role}`, role });
    sessions[role] = session(`the-${role}`);
    programs[role] = bearer((await staffToken(platform, member.id)).secret);
  }
  const { secret } = await platform.admin.mintServiceToken({ name: 'tests' });
  return {
    platform,
    incidents,
    ours,
    theirs,
    nowhere: nothingLike(ours.names),
    credentials: {
      service: bearer(secret),
      sessions: sessions as ByRole,
      programs: programs as ByRole,
      verticals: {
        granted: await asVertical(ours.names.slug ?? ''),
        ungranted: await asVertical('ungranted'),
        forged: await asVertical(ours.names.slug ?? '', 'the secret of another platform'),
      },
      anonymous,
    },
    build,
    send: async (request) => app.fetch(request),
    logged: async () => {
      const { items } = await platform.value<{ items: { sequence: number }[] }>('admin-log.list', {
        query: { limit: 1 },
      });
      return items[0]?.sequence ?? 0;
    },
  };
}

/** A session, on a page of the API's own. */
function session(login: string): Credential {
  return { cookie: `who=${login}`, 'sec-fetch-site': 'same-origin', origin: 'https://control.example' };
}

/** Tokens that worked once, and what never did. */
async function makeAnonymouss(platform: Platform): Promise<Record<string, Credential>> {
  interface Minted {
    readonly secret: string;
    readonly token: { readonly id: string };
  }
  const { id: tenant } = await platform.tenant('former');
  const mint = (family: 'push' | 'service', name: string) =>
    platform.value<Minted>(`${family}-tokens.create`, {
      body: { name, expiresInDays: 1, ...(family === 'push' ? { tenant } : {}) },
    });
  const expired = { push: await mint('push', 'expired'), service: await mint('service', 'expired') };
  const replaced = await platform.value<Minted>('service-tokens.create', {
    body: { name: 'replaced', expiresInDays: 90 },
  });
  await platform.call('service-tokens.rotate', {
    params: { token: replaced.token.id },
    body: { overlapHours: 1 },
  });
  const member = async (login: string, who: Partial<Parameters<typeof staffMember>[1]> = {}) => {
    const { id } = await staffMember(platform, { login, role: 'admin', ...who });
    return { id, program: await staffToken(platform, id) };
  };
  const lapsed = await member('lapsed');
  // A session of staff works for a week, and a token of theirs for thirty days.
  platform.clock.ms += 31 * DAY_MS;
  const revoked = { push: await mint('push', 'revoked'), service: await mint('service', 'revoked') };
  for (const family of ['push', 'service'] as const)
    await platform.call(`${family}-tokens.revoke`, { params: { token: revoked[family].token.id } });
  const careful = await member('careful');
  await platform.call('staff-tokens.revoke', { params: { token: careful.program.id } });
  const former = await member('former');
  const formerBuilder = await member('former-builder', { role: 'builder', tenant });
  for (const { id } of [former, formerBuilder])
    await platform.call('staff.remove', { params: { member: id } });
  const suspended = (await platform.tenant('suspended')).id;
  const idle = await member('idle', { role: 'builder', tenant: suspended });
  await platform.call('tenants.set-status', { params: { tenant: suspended }, body: { status: 'suspended' } });
  return {
    'no credential': {},
    'an unknown token': bearer('fh_svc_unknown'),
    'an expired service token': bearer(expired.service.secret),
    'a revoked service token': bearer(revoked.service.secret),
    'an expired push token': bearer(expired.push.secret),
    'a revoked push token': bearer(revoked.push.secret),
    'a service token after its overlap': bearer(replaced.secret),
    'a member who left the staff': session('former'),
    'a program of a member who left the staff': bearer(former.program.secret),
    'an expired session of staff': session('lapsed'),
    'an expired token of staff': bearer(lapsed.program.secret),
    'a revoked token of staff': bearer(careful.program.secret),
    'a builder who was removed': session('former-builder'),
    'a program of a builder who was removed': bearer(formerBuilder.program.secret),
    'a builder of a tenant that is suspended': session('idle'),
    'a program of a builder of a tenant that is suspended': bearer(idle.program.secret),
  };
}

async function buildTenant(
  platform: Platform,
  slug: string,
  directoryBackup: string,
): Promise<TenantFixture> {
  const made = async (name: Parameters<Platform['call']>[0], parts: Parameters<Platform['call']>[1]) =>
    (await platform.value<{ id: string }>(name, parts)).id;
  const tenant = (await platform.tenant(slug)).id;
  const scope = await platform.scope(tenant);
  const at = { tenant, scope: scope.id };
  const { hostname } = await platform.hostname(scope, `${slug}.localhost`);
  const push = await platform.value<{ secret: string; token: { id: string } }>('push-tokens.create', {
    body: { name: 'builder', tenant, kind: 'operate' },
  });
  const [spare, service] = await Promise.all(
    (['push-tokens.create', 'service-tokens.create'] as const).map((name) =>
      platform.value<{ token: { id: string } }>(name, {
        body: { name: slug, ...(name === 'push-tokens.create' ? { tenant } : {}) },
      }),
    ),
  );
  const connection = await made('connections.create', {
    params: { tenant },
    body: {
      provider: 'ledger',
      scope: scope.id,
      subjectRef: 'first',
      apiKey: `key-of-${slug.replace(/[^a-z]/g, '')}-${slug.replace(/\D/g, '') || 1}`,
    },
  });
  await platform.admin.ingestIncident({
    error: new TypeError('broken'),
    where: { kind: 'scope-fieldwork', method: slug },
    scope: at,
  });
  const { items: issues } = await platform.value<{
    items: { fingerprint: string; sample: { tenant: string | null } }[];
  }>('issues.list', { query: { limit: 200 } });
  const member = await staffMember(platform, { login: `of-${slug}`, role: 'operator' });
  const builder = await staffMember(platform, { login: `builder-of-${slug}`, role: 'builder', tenant });
  await platform.call('entitlements.put', { params: { tenant, key: 'seats' }, body: { quota: 5 } });
  const backup = await platform.finish(platform.call('scope-backups.create', { params: at, body: {} }));
  const app = await openApp(platform, tenant, `${slug}-app`);
  await platform.call('secrets.set', {
    params: { slug: app.slug, name: SECRET_NAME },
    body: { secret: 'prepared' },
  });
  const names = {
    ...at,
    ownerTenant: tenant,
    visibleTo: tenant,
    hostname,
    connection,
    snapshot: await made('snapshots.take', { params: at, body: {} }),
    preview: (
      await platform.value<{ preview: { id: string } }>('previews.create', {
        params: { slug: app.slug },
        body: {
          manifest: manifestOf(app.slug, '4.0.0'),
          modules: [{ name: 'main.js', mediaType: 'application/javascript+module', base64: btoa('0') }],
        },
      })
    ).preview.id,
    identity: await made('identities.add', {
      params: { tenant },
      body: { kind: 'organization', issuer: 'https://login.example.com', value: `org-${slug}` },
    }),
    operation: backup.id,
    backup: (backup.result as { id: string }).id,
    'directory backup': directoryBackup,
    slug: app.slug,
    id: app.pending,
    member: member.id,
    // Any other rule would end the programs that call here.
    programs: 'any',
    fingerprint: issues.find(({ sample }) => sample.tenant === tenant)?.fingerprint ?? '',
    'push-tokens token': spare?.token.id ?? '',
    'service-tokens token': service?.token.id ?? '',
    'staff-tokens token': (await staffToken(platform, member.id)).id,
    program: (await letProgramIn(platform, member.id)).id,
    'entitlements key': 'seats',
    'roles key': 'support',
    channel: 'prod',
    table: 'orders',
    event: EVENT,
    invocation: INVOCATION,
    subject: 'rdr_ada',
    vertical: 'fieldwork',
    provider: 'ledger',
    name: SECRET_NAME,
  };
  const builders = {
    'a push token': bearer(push.secret),
    'a builder session': session(`builder-of-${slug}`),
    'a builder’s program': bearer((await staffToken(platform, builder.id)).secret),
  };
  return { names, builders };
}

/** Things that are the same for all tenants, or belong to none. */
const SHARED: ReadonlySet<string> = new Set([
  'roles key',
  'channel',
  'table',
  'vertical',
  'provider',
  'programs',
  'subject',
  'name',
]);

function nothingLike(names: Names): Names {
  return Object.fromEntries(
    Object.entries(names).map(([name, value]) => {
      if (SHARED.has(name)) return [name, value];
      if (/^[a-z]{3}_[0-9a-z]{26}$/.test(value)) return [name, `${value.slice(0, 4)}${'0'.repeat(26)}`];
      if (/^[0-9a-f]{32}$/.test(value)) return [name, '0'.repeat(32)];
      return [name, name === 'hostname' ? 'nothing.localhost' : 'nothing'];
    }),
  );
}

/** Whether a field of this operation names a thing that belongs to a tenant and must exist. */
export function namesThing(
  operation: AdminOperation,
  place: 'params' | 'query' | 'body',
  field: string,
): boolean {
  if (nameOf(operation, field) in { channel: 0, table: 0, vertical: 0, provider: 0, subject: 0, name: 0 })
    return false;
  if (place === 'params') return true;
  // Where a builder sees what is its own whatever it says.
  if (operation.name === 'verticals.list') return false;
  if (['tenant', 'scope', 'ownerTenant'].includes(field)) return true;
  // The names of a create are new.
  return place === 'body' && field === 'hostname' && operation.success !== 201;
}

/** The name under which a house keeps the value of a field. */
function nameOf({ path }: AdminOperation, field: string): string {
  const family = /([a-z-]+)\/:[a-z]+/g;
  if (field === 'backup' && path.startsWith('/directory/')) return 'directory backup';
  if (field !== 'token' && field !== 'key') return field;
  return `${[...path.matchAll(family)].find(([text]) => text.endsWith(`:${field}`))?.[1]} ${field}`;
}

/** Fields that name nothing that is made, and whose value the fixture says. */
const FIXED: ReadonlySet<string> = new Set(['vertical', 'provider', 'fingerprint', 'programs']);

/**
 * A request of an operation with fields about a house; the others are of their declared form.
 * @param pick the house that a field is about.
 */
export function requestAbout(
  operation: AdminOperation,
  pick: (place: 'params' | 'query' | 'body', field: string) => Names,
  { credential, seed = 1 }: { readonly credential: Credential; readonly seed?: number },
): Request {
  const { schemas, samples } = preparedOf(operation, seed);
  const filled = (place: 'params' | 'query' | 'body'): Record<string, unknown> => {
    const sample = samples[place];
    const fields = Object.keys(schemas[place].shape).flatMap((field): [string, unknown][] => {
      const value = pick(place, field)[nameOf(operation, field)];
      const isAsked = place === 'params' || namesThing(operation, place, field) || field in sample;
      const isNew = place !== 'params' && !namesThing(operation, place, field) && !FIXED.has(field);
      return value !== undefined && isAsked && !isNew ? [[field, value]] : [];
    });
    return { ...sample, ...Object.fromEntries(fields) };
  };
  const query = filled('query');
  // Optional fields without a name: they narrow, wait, or ask for a plan.
  for (const [field, schema] of Object.entries(schemas.query.shape))
    if (!namesThing(operation, 'query', field) && z.safeParse(schema, undefined).success) delete query[field];
  const body = operation.input.body ? filled('body') : null;
  // A list that narrows a right to some things: invented ones are not there.
  for (const field of ['scopes', 'verticals']) {
    const schema = schemas.body.shape[field];
    if (body && schema && z.safeParse(schema, undefined).success) delete body[field];
  }
  const parts = partsOf(operation, { params: filled('params'), query, body });
  const request = requestOf(operation.method, parts, '');
  request.headers.delete('authorization');
  for (const [name, value] of Object.entries(credential)) request.headers.set(name, value);
  return request;
}

type Prepared = {
  readonly schemas: ReturnType<typeof strictInput>;
  readonly samples: Readonly<Record<'params' | 'query' | 'body', Readonly<Record<string, unknown>>>>;
};
const prepared = new Map<string, Prepared>();

/** The schemas of an operation and a value of each, made once. */
function preparedOf(operation: AdminOperation, seed: number): Prepared {
  const known = prepared.get(`${operation.path} ${operation.name} ${seed}`);
  if (known) return known;
  const schemas = strictInput(operation);
  const sampleOf = (schema: z.ZodObject) =>
    (fc.sample(valuesOf(schema, 'input'), { numRuns: 1, seed })[0] ?? {}) as Record<string, unknown>;
  const { params, query, body } = schemas;
  const samples = { params: sampleOf(params), query: sampleOf(query), body: sampleOf(body) };
  prepared.set(`${operation.path} ${operation.name} ${seed}`, { schemas, samples });
  return { schemas, samples };
}
