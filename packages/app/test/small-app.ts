/** A small application without pages of its own, with one tenant, and people with browsers: for the tests of the supplied pages. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PLATFORM_SECRET_HEADER, PlatformError, type ScopeId, type TenantId } from '@freehold/contracts';
import { makeUnitVault, makeVaultUnit, operation } from '@freehold/kernel';
import { makeRelyingParty } from '@freehold/oidc-rp';
import { makeKeyring } from '@freehold/store';
import { z } from 'zod';
import { openTestEngine } from '../../testkit/src/index.ts';
import {
  type AppDeclaration,
  type AppServices,
  defineApp,
  makeApp,
  type Node,
  signedIn,
} from '../src/index.ts';

const ISSUER = 'https://issuer.example';
const SECRET = 'the platform secret of these tests';
export const START_MS = Date.parse('2026-03-03T07:00:00.000Z');
const ULID = '01j00000000000000000000001';
/** A name that is harmful where it is not escaped. */
export const BUSINESS = `Inn <script>alert("1")</script> & 'Sons'`;

const guest = z.object({ id: z.string(), name: z.string(), checkedIn: z.boolean() });
const guestId = z.strictObject({ guest: z.string() });

export const declaration: AppDeclaration = {
  manifest: {
    slug: 'inn',
    name: 'Inn',
    version: '0.1.0',
    permissions: {
      'guest.read': 'See guests',
      'guest.write': 'Write guests down',
      'guest.erase': 'Erase guests',
    },
    roles: {
      owner: { name: 'Owner', permissions: ['guest.read', 'guest.write', 'guest.erase'] },
      manager: { name: 'Manager', permissions: ['guest.read', 'team.read', 'member.manage'] },
      porter: { name: 'Porter <b>', permissions: ['guest.read'] },
      viewer: { name: 'Viewer', permissions: ['team.read'] },
    },
    ownerRole: 'owner',
    entities: { guest: { read: 'guest.read' } },
    env: {},
  },
  migrations: [
    {
      version: 1,
      name: 'guests',
      sql: 'CREATE TABLE guests (id TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT;',
    },
  ],
  operations: {
    'guest/create': operation({
      summary: 'Write a guest down',
      input: z.strictObject({ name: z.string() }),
      output: guest,
      permission: 'guest.write',
      http: { method: 'POST', path: '/api/guests' },
      run: (ctx, { name }) => {
        const id = ctx.newId('gst');
        ctx.sql.run('INSERT INTO guests (id, name) VALUES (?, ?)', id, name);
        ctx.emit({ type: 'guest.arrived', entity: { type: 'guest', id }, payload: { note: '<i>early</i>' } });
        return { id, name, checkedIn: name.startsWith('In ') };
      },
    }),
    'guest/get': operation({
      summary: 'Show a guest',
      input: guestId,
      output: guest,
      permission: 'guest.read',
      entity: (input) => ({ type: 'guest', id: input.guest }),
      http: { method: 'GET', path: '/api/guests/:guest' },
      run: (ctx, { guest: id }) => {
        const row = ctx.sql.get<{ id: string; name: string }>('SELECT id, name FROM guests WHERE id = ?', id);
        if (!row)
          throw new PlatformError('not_found', 'There is no such guest.', { reason: 'unknown_guest' });
        return { ...row, checkedIn: row.name.startsWith('In ') };
      },
    }),
  },
  erasure: {
    persons: {
      guest: {
        permission: 'guest.erase',
        refuse: (output) =>
          guest.parse(output).checkedIn
            ? new PlatformError('conflict', 'This guest is still in the house.', { reason: 'in_the_house' })
            : null,
      },
    },
    onShred: ({ sql }, subject) => sql.run("UPDATE guests SET name = '' WHERE id = ?", subject),
  },
  authenticatedPrincipal: signedIn(),
};

export interface SmallAppOptions {
  readonly app?: Partial<AppDeclaration>;
  readonly services?: Partial<AppServices>;
  /** The bindings of the worker, beside the node. Default: none. */
  readonly bindings?: Readonly<Record<string, string>>;
  /** The settings of the instance. Default: the choice of an issuer. */
  readonly config?: Readonly<Record<string, string>>;
  readonly origin?: string;
  readonly business?: string;
}

/** A person with a browser. */
export interface Reader {
  /** Opens a page as a browser does. */
  open(path: string, headers?: Record<string, string>): Promise<Page>;
  /** Sends a form of a page of this application. */
  send(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<Page>;
  /** Calls the API. */
  api(method: string, path: string, body?: unknown): Promise<Response>;
}

export interface Page {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where it redirects to. */
  readonly location: string | null;
}

export async function openSmallApp(options: SmallAppOptions = {}) {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'small-app-'));
  const clock = { nowMs: START_MS };
  const incidents: unknown[] = [];
  const onIncident = (error: unknown) => void incidents.push(error);
  const now = () => clock.nowMs;
  const engine = openTestEngine({ dataDirectory, now, onIncident });
  const vaultUnit = makeVaultUnit(makeKeyring(['a sealing key that is for tests only']));
  const app = defineApp({ ...declaration, ...options.app });
  const running = makeApp(app, {
    engine,
    vault: makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true })),
    platformSecret: SECRET,
    now,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    fetch: async () => new Response(null, { status: 503 }),
    onIncident,
    ...options.services,
  });
  const at = {
    tenant: `tnt_${ULID}` as TenantId,
    scope: `scp_${ULID}` as ScopeId,
    origin: options.origin ?? 'https://inn.example',
  };
  const node: Node = { ...at, vertical: 'inn', version: '0.1.0', surface: 'app' };
  const call = (request: Request, reached: Node | null = node) =>
    running.app.fetch(request, { ...options.bindings, node: reached, clientAddress: null });

  const choice = { 'platform:auth': JSON.stringify({ mode: 'oidc', issuer: ISSUER, clientId: 'inn' }) };
  await call(
    new Request('http://internal.example/internal/provision', {
      method: 'POST',
      headers: { [PLATFORM_SECRET_HEADER]: SECRET, 'content-type': 'application/json' },
      body: JSON.stringify({
        tenantId: at.tenant,
        scopeId: at.scope,
        name: options.business ?? BUSINESS,
        config: options.config ?? choice,
      }),
    }),
    null,
  );

  const reader = (cookie?: string): Reader => {
    const credentials = cookie === undefined ? {} : { cookie };
    const page = async (path: string, init: RequestInit): Promise<Page> => {
      const response = await call(new Request(`${at.origin}${path}`, init));
      const { status, headers } = response;
      return { status, headers, text: await response.text(), location: headers.get('location') };
    };
    const accept = 'text/html,application/xhtml+xml';
    return {
      open: (path, headers) => page(path, { headers: { ...credentials, accept, ...headers } }),
      send: (path, fields, headers) =>
        page(path, {
          method: 'POST',
          headers: { ...credentials, accept, origin: at.origin, 'sec-fetch-site': 'same-origin', ...headers },
          body: new URLSearchParams(fields),
        }),
      api: (method, path, body) =>
        Promise.resolve(
          call(
            new Request(`${at.origin}${path}`, {
              method,
              headers: {
                ...credentials,
                ...(body === undefined ? {} : { 'content-type': 'application/json' }),
              },
              ...(body === undefined ? {} : { body: JSON.stringify(body) }),
            }),
          ),
        ),
    };
  };

  /** The cookie that a completed sign-in would have left. */
  const cookieOf = async (sub: string, name = sub): Promise<string> => {
    const directory = engine.unit(running.units.identity, at.tenant);
    const sessionSecret = await directory.sessionSecret();
    const relyingParty = makeRelyingParty({
      env: { issuer: ISSUER, clientId: 'inn', sessionSecrets: [sessionSecret] },
      audience: `${at.tenant}/${at.scope}`,
      now,
      fetch: async () => new Response(null, { status: 503 }),
    });
    const email = `${sub}@example.org`;
    const token = relyingParty.mintSession({ id: sub, name, email, emailVerified: true });
    const session = relyingParty.verifySession(token);
    if (!session) throw new Error('the session was made just now');
    await directory.recordSignIn({
      scopeId: at.scope,
      subject: { issuer: ISSUER, sub, name, email, emailVerified: true },
      session: { sid: session.sid, issuedAtMs: session.issuedAtMs },
      client: 'Firefox on Linux',
    });
    return `sb_session=${token}`;
  };
  const signedInReader = async (sub: string, name?: string) => reader(await cookieOf(sub, name));

  return {
    app: running,
    at,
    node,
    clock,
    incidents,
    call,
    reader,
    cookieOf,
    signedIn: signedInReader,
    directory: () => engine.unit(running.units.identity, at.tenant),
    /** Signs a person in who accepts an invite of the owner. */
    join: async (owner: Reader, sub: string, { role, name }: { role: string; name?: string }) => {
      const { url } = (await (await owner.api('POST', '/api/invites', { role })).json()) as { url: string };
      const member = await signedInReader(sub, name);
      const token = new URL(url).searchParams.get('invite');
      const accepted = await member.api('POST', '/api/accept-invite', { token });
      const { principal } = (await accepted.json()) as { principal: string };
      return { member, principal };
    },
    [Symbol.asyncDispose]: async () => {
      await engine.close();
      rmSync(dataDirectory, { recursive: true });
    },
  };
}

export type SmallApp = Awaited<ReturnType<typeof openSmallApp>>;
