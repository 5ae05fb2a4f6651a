/** Two tenants side by side behind one application, provisioned as a platform does it, and people who are signed in. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AppServices, type Bindings, makeApp } from '@freehold/app';
import { PLATFORM_SECRET_HEADER, type Problem, type ScopeId, type TenantId } from '@freehold/contracts';
import { type DeliveryRunner, makeDeliveryRunner } from '@freehold/kernel';
import { makeRelyingParty } from '@freehold/oidc-rp';
import { expect } from 'vitest';
import { makeNodeBlobStore } from '../../../packages/engine-node/src/index.ts';
import { openTestEngine } from '../../../packages/testkit/src/index.ts';
import declared from '../src/app.ts';
import { deployFieldwork } from './deployed.ts';
import { openVault } from './vault.ts';

const ISSUER = 'https://issuer.example';
const SECRET = 'the platform secret of these tests';
/** True: the same tests, of the application as a deployed one. Its clock is the machine's. */
export const IS_DEPLOYED = process.env.FREEHOLD_DEPLOYED === '1';
export const START_MS = IS_DEPLOYED ? Date.now() : Date.parse('2026-03-03T07:00:00.000Z');

const ulid = (n: number) => `01j0000000000000000000${String(n).padStart(4, '0')}`;

const machineClock = {
  get nowMs() {
    return Date.now();
  },
  set nowMs(_value: number) {},
};

/** One instance on the street. */
export interface Instance {
  readonly tenant: TenantId;
  readonly scope: ScopeId;
  readonly origin: string;
}

const instance = (n: number, name: string): Instance => ({
  tenant: `tnt_${ulid(n)}` as TenantId,
  scope: `scp_${ulid(n)}` as ScopeId,
  origin: `https://${name}.example`,
});

/** A person with a browser: requests carry the session, and are typed by what the test expects. */
export interface Visitor {
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Expects success. */
  get<T = Record<string, unknown>>(path: string): Promise<T>;
  post<T = Record<string, unknown>>(path: string, body?: unknown): Promise<T>;
  /** Expects a problem document whose detail is a sentence, and answers it. */
  refused(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Problem>;
}

/** Differences from the usual fixture, where people sign in at an issuer that was delivered to each instance. */
export interface FixtureOptions {
  /** The bindings of the worker, beside the node. Default: none. */
  readonly bindings?: Readonly<Record<string, string>>;
  /** The settings that are delivered to each instance. Default: the choice of the issuer. */
  readonly config?: Readonly<Record<string, string>>;
}

export async function openFixture(more: Partial<AppServices> = {}, options: FixtureOptions = {}) {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'fieldwork-fixture-'));
  const clock = IS_DEPLOYED ? machineClock : { nowMs: START_MS };
  const incidents: unknown[] = [];
  /** Where requests come from. */
  let streetAddress: string | null = null;
  const onIncident = (error: unknown) => void incidents.push(error);
  const engine = openTestEngine({ dataDirectory, now: () => clock.nowMs, onIncident });
  const now = () => clock.nowMs;
  const tenants = new Map<string, { readonly tenant: string; readonly name: string }>();
  const services: AppServices = {
    engine,
    vault: openVault(engine),
    blobs: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId, now }),
    onWork: (scopeId) => runner?.wake(scopeId),
    platformSecret: SECRET,
    now,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    fetch: async () => new Response(null, { status: 503 }),
    onIncident,
    ...more,
  };
  const fieldwork = makeApp(declared, services);
  const { host, units } = fieldwork;
  const deployed = IS_DEPLOYED
    ? await deployFieldwork({
        ...services,
        dataDirectory,
        bindings: options.bindings ?? {},
        platformSecret: SECRET,
        tenants,
        onIncident,
      })
    : null;
  const runner: DeliveryRunner = makeDeliveryRunner({
    vertical: units.scope.vertical,
    scope: host.scope,
    attachments: host.attachments,
    now,
    onIncident,
  });

  const call = (at: Instance | null, path: string, init: RequestInit = {}) => {
    const node = at && { ...at, vertical: 'fieldwork', version: '0.1.0', surface: 'app' };
    const env: Bindings = { ...options.bindings, node, clientAddress: streetAddress };
    const request = new Request(`${at?.origin ?? 'http://internal.example'}${path}`, init);
    return deployed ? deployed.fetch(request, env) : fieldwork.app.fetch(request, env);
  };

  const platform = (method: 'GET' | 'POST', path: string, body?: unknown, secret = SECRET) =>
    call(null, path, {
      method,
      headers: { [PLATFORM_SECRET_HEADER]: secret, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  const provision = async (at: Instance, name: string, config?: Record<string, string>) => {
    tenants.set(at.scope, { tenant: at.tenant, name });
    const response = await platform('POST', '/internal/provision', {
      tenantId: at.tenant,
      scopeId: at.scope,
      name,
      ...(config === undefined ? {} : { config }),
    });
    expect(await response.json()).toMatchObject({
      scopeId: at.scope,
      status: 'provisioned',
      ownerSeat: 'pending',
    });
  };
  const choice = { 'platform:auth': JSON.stringify({ mode: 'oidc', issuer: ISSUER, clientId: 'fieldwork' }) };

  /** The cookie that a completed sign-in at this house would have left. */
  const cookieOf = async (at: Instance, sub: string, name: string, emailVerified = true): Promise<string> => {
    const sessionSecret = await engine.unit(fieldwork.units.identity, at.tenant).sessionSecret();
    const relyingParty = makeRelyingParty({
      env: { issuer: ISSUER, clientId: 'fieldwork', sessionSecrets: [sessionSecret] },
      audience: `${at.tenant}/${at.scope}`,
      now: () => clock.nowMs,
      fetch: async () => new Response(null, { status: 503 }),
    });
    const session = relyingParty.mintSession({
      id: sub,
      name,
      email: `${sub}@example.org`,
      emailVerified,
    });
    return `sb_session=${session}`;
  };

  const visitor = (at: Instance, cookie?: string): Visitor =>
    visitorWith(at, cookie === undefined ? {} : { cookie });

  /** A caller whose every request carries these headers: a cookie, or a token. */
  const visitorWith = (at: Instance, credentials: Record<string, string>): Visitor => {
    const request: Visitor['request'] = async (method, path, body, headers = {}) =>
      call(at, path, {
        method,
        headers: {
          ...credentials,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
    const ok = async (response: Response) => {
      const body = (await response.json()) as never;
      expect(response.ok, JSON.stringify(body)).toBe(true);
      return body;
    };
    return {
      request,
      get: async (path) => ok(await request('GET', path)),
      post: async (path, body = {}) => ok(await request('POST', path, body)),
      refused: async (method, path, body, headers) => {
        const response = await request(method, path, body, headers);
        expect(response.headers.get('content-type'), `${method} ${path}`).toBe('application/problem+json');
        const problem = (await response.json()) as Problem;
        expect(problem.status).toBe(response.status);
        // A refused form names its field behind a colon; everything else is whole sentences.
        const sentence =
          problem.code === 'validation_failed' ? /^[A-Z].* is not (valid|one)/ : /^[A-Z].*[^.]\.$/s;
        expect(problem.detail, `${method} ${path}`).toMatch(sentence);
        expect(problem.error).toBe(problem.detail);
        return problem;
      },
    };
  };

  const pipes = instance(1, 'pipes');
  const sparks = instance(2, 'sparks');
  const config = options.config ?? choice;
  await provision(pipes, 'Pipes & Sons', config);
  await provision(sparks, 'Sparks', config);

  return {
    engine,
    fieldwork,
    clock,
    incidents,
    pipes,
    sparks,
    choice,
    platform,
    provision,
    visitor,
    visitorWith,
    /** Lets requests come from an address from now on. */
    comeFrom: (address: string | null) => {
      streetAddress = address;
    },
    cookieOf,
    /** Resolves when nothing that happens by itself is under way. */
    settled: () => (deployed ? new Promise<void>((resolve) => setTimeout(resolve, 500)) : runner.idle()),
    wake: (at: Instance) => runner.wake(at.scope),
    signedIn: async (at: Instance, sub: string, name = sub) => visitor(at, await cookieOf(at, sub, name)),
    [Symbol.asyncDispose]: async () => {
      await runner.stop();
      await deployed?.stop();
      await engine.close();
      rmSync(dataDirectory, { recursive: true });
    },
  };
}

export type Fixture = Awaited<ReturnType<typeof openFixture>>;

/** Invites a person, who accepts. Returns the new member, signed in. */
export async function joinTeam(fixture: Fixture, owner: Visitor, at: Instance, sub: string, role: string) {
  return acceptInvite(owner, await fixture.signedIn(at, sub), role);
}

/** Invites a person who is signed in already. */
export async function acceptInvite(owner: Visitor, member: Visitor, role: string) {
  const { url } = await owner.post<{ url: string }>('/api/invites', { role });
  const { principal } = await member.post<{ principal: string }>('/api/accept-invite', {
    token: new URL(url).searchParams.get('invite'),
  });
  return { member, principal };
}
