/** An issuer, a place where fieldwork runs, the platform that manages it, and its users. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { MANAGEMENT_ROUTES, PLATFORM_SECRET_HEADER } from '@freehold/contracts';
import { startIssuer } from '@freehold/issuer';
import { makeVerticalClient, type VerticalClient } from '@freehold/vertical-host/client';
import { type Answer, type Ask, Caller } from '../support/http.ts';
import { signIn } from '../support/sign-in.ts';
import { FIXTURES, type Fixture } from './fixture.ts';
import type { Place, PlaceOptions } from './place.ts';

const PLATFORM_SECRET = 'the platform secret of these tests';
const CLIENT_SECRET = 'the secret between fieldwork and the issuer';
const SEAL_KEY = 'a sealing key that is for these tests only';

/** A page and a script, as far as a server is concerned. */
export const PAGES: Readonly<Record<string, string>> = {
  '/index.html': `<!doctype html><title>Fieldwork</title>${'<p>Work orders</p>'.repeat(50)}`,
  '/assets/app-1a2b3c.js': `${'console.log("fieldwork");\n'.repeat(50)}`,
};

/** A file as it came over HTTP. */
export interface Bytes {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** A person with a browser at one business. */
export interface Person {
  readonly caller: Caller;
  ask(path: string, ask?: Ask): Promise<Answer>;
  /** Sends bytes, or fetches some. */
  bytes(path: string, upload?: { readonly type: string; readonly body: Uint8Array }): Promise<Bytes>;
}

export interface World<P extends Place = Place> {
  readonly place: P;
  /** The platform's client of the vertical. */
  readonly client: VerticalClient;
  /** Calls a route of the management contract that the client has no member for. */
  manage(
    route: 'configure' | 'ownerSeat' | 'ownerClaim',
    fixture: Fixture,
    fields?: Readonly<Record<string, unknown>>,
    secret?: string | null,
  ): Promise<Answer>;
  /** The settings of a business for the sign-in at the issuer. */
  readonly config: Readonly<Record<string, string>>;
  origin(fixture: Fixture): string;
  visitor(fixture: Fixture): Person;
  signedIn(fixture: Fixture, login: string): Promise<Person>;
  close(): Promise<void>;
}

export async function openWorld<P extends Place>(
  openPlace: (options: PlaceOptions) => Promise<P>,
): Promise<World<P>> {
  await using opened = new AsyncDisposableStack();
  const issuer = await startIssuer({ port: 0 });
  opened.defer(() => issuer.close());
  const place = await openPlace({
    platformSecret: PLATFORM_SECRET,
    sealKey: SEAL_KEY,
    issuerUrl: issuer.url,
    pages: PAGES,
  });
  opened.defer(() => place.close());
  const origin = ({ hostname }: Fixture): string => `http://${hostname}:${place.port}`;
  await issuer.putClient({
    clientId: 'fieldwork',
    clientSecret: CLIENT_SECRET,
    redirectUris: FIXTURES.map((fixture) => `${origin(fixture)}/api/auth/callback`),
    postLogoutRedirectUris: FIXTURES.map((fixture) => `${origin(fixture)}/`),
  });
  const platform = opened.use(new Caller());
  const world = opened.move();

  const visitor = (fixture: Fixture): Person => {
    const caller = world.use(new Caller());
    return {
      caller,
      ask: (path, ask) => caller.ask(origin(fixture) + path, ask),
      bytes: (path, upload) =>
        sendBytes(new URL(origin(fixture) + path), caller.cookieHeader(origin(fixture)), upload),
    };
  };
  return {
    place,
    client: makeVerticalClient({ baseUrl: place.managementUrl, platformSecret: PLATFORM_SECRET }),
    manage: (name, { tenantId, scopeId }, fields = {}, secret = PLATFORM_SECRET) => {
      const { method, path } = MANAGEMENT_ROUTES[name];
      const url = new URL(`${place.managementUrl}/internal/${path}`);
      const headers = secret === null ? {} : { [PLATFORM_SECRET_HEADER]: secret };
      if (method === 'POST')
        return platform.ask(url.href, { headers, json: { tenantId, scopeId, ...fields } });
      url.search = new URLSearchParams({ tenantId, scopeId }).toString();
      return platform.ask(url.href, { headers });
    },
    config: {
      'platform:auth': JSON.stringify({ mode: 'oidc', issuer: issuer.url, clientId: 'fieldwork' }),
      OIDC_CLIENT_SECRET: CLIENT_SECRET,
    },
    origin,
    visitor,
    signedIn: async (fixture, login) => {
      const person = visitor(fixture);
      await signIn(person.caller, origin(fixture), login);
      return person;
    },
    close: () => world.disposeAsync(),
  };
}

function sendBytes(
  url: URL,
  cookie: string,
  upload?: { readonly type: string; readonly body: Uint8Array },
): Promise<Bytes> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: '127.0.0.1',
        port: url.port,
        path: url.pathname + url.search,
        method: upload ? 'POST' : 'GET',
        headers: {
          host: url.host,
          cookie,
          ...(upload ? { 'content-type': upload.type, 'content-length': String(upload.body.length) } : {}),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes: Buffer.concat(chunks),
          }),
        );
      },
    );
    request.on('error', reject);
    request.end(upload?.body);
  });
}
