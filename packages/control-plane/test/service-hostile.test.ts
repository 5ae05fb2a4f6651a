/** The addresses beside the operations, with whatever anybody may send them: documented answers, and never a fault (C-32). */
import { PLATFORM_SECRET_HEADER } from '@freehold/contracts';
import { verticalSecret } from '@freehold/contracts/http';
import type { ConnectionsOptions } from '@freehold/directory';
import { adminOperations } from '@freehold/directory/declarations';
import { makeKeyring } from '@freehold/store';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../testkit/src/index.ts';
import { adminToolsOf } from '../src/mcp/admin-tools.ts';
import { openApiDocument } from '../src/openapi/document.ts';
import { ISSUER, openRealPlatform, PLATFORM_SECRET } from './support/real-platform.ts';
import { hostileBodies, hostileHeaders, names, text } from './support/requests.ts';

const ORIGIN = 'https://control.example';
const RUNS = runs(60);
const TIMEOUT_MS = 120_000;

type Part = Readonly<Record<string, unknown>>;
interface Documented {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Part }>> };
  readonly responses: Readonly<Record<string, Part>>;
}

const { paths, components } = openApiDocument(adminOperations);
const OF_OPERATIONS = new Set(Object.keys(adminOperations).flatMap((name) => [name, `${name}.short`]));

/** Every address that no declaration stands for. What the relying party answers is tested with it. */
const ADDRESSES = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .map(([method, documented]) => ({
      path,
      method: method.toUpperCase(),
      documented: documented as never as Documented,
    }))
    .filter(({ documented }) => !OF_OPERATIONS.has(documented.operationId))
    .filter(() => !path.startsWith('/api/auth/')),
);

test('those that take something are among them', () => {
  const found = new Set(ADDRESSES.map(({ method, path }) => `${method} ${path}`));
  for (const address of [
    ...['POST /mcp', 'GET /device', 'POST /device', 'GET /oauth/authorize', 'POST /oauth/authorize'],
    ...['POST /oauth/token', 'POST /oauth/device_authorization', 'POST /oauth/revoke'],
    ...[
      'GET /connect/{ticket}',
      'GET /connect/callback/{provider}',
      'POST /internal/connections/connect-url',
    ],
  ])
    expect(found).toContain(address);
});

/** The senders: an anonymous one, a person with a session on our page or on another's, a program, a vertical. */
const senders = (secret: string, vertical: string): fc.Arbitrary<Record<string, string>> =>
  fc.constantFrom(
    {},
    ADA,
    { cookie: 'who=ada', 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { cookie: 'who=unknown', 'sec-fetch-site': 'same-origin', origin: ORIGIN },
    { authorization: `Bearer ${secret}` },
    { authorization: 'Bearer fh_svc_stranger' },
    { authorization: 'Basic YTpi' },
    { [PLATFORM_SECRET_HEADER]: vertical },
    { [PLATFORM_SECRET_HEADER]: 'fh_vrt_fieldwork_0' },
  );

const ADA = { cookie: 'who=ada', 'sec-fetch-site': 'same-origin', origin: ORIGIN };

/** Whom an address is for: half of what is sent there comes from them, in a form that is read at all. */
function properSender(path: string, secret: string, vertical: string): Record<string, string> {
  if (path === '/mcp') return { authorization: `Bearer ${secret}` };
  if (path.startsWith('/internal/')) return { [PLATFORM_SECRET_HEADER]: vertical };
  return path === '/device' || path === '/oauth/authorize' ? ADA : {};
}

/** Values that some field would take, beside any others. */
const values = fc.oneof(
  text,
  fc.constantFrom(
    ...[
      'code',
      'S256',
      'freehold-cli',
      'http://127.0.0.1:4711/callback',
      'approve',
      'allow',
      'look',
      'ABCD-EFGH',
    ],
    ...[
      'authorization_code',
      'urn:ietf:params:oauth:grant-type:device_code',
      'fh_staff_none',
      'x'.repeat(20_000),
    ],
  ),
);

const MEDIA_TYPES = [
  ...[
    'application/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain',
  ],
  ...['application/octet-stream', 'application/json; charset=utf-16', 'nonsense'],
];

/** The names that an address documents for its query, or for its form. */
function fieldsOf({ parameters = [], requestBody }: Documented): string[] {
  const forms = Object.values(requestBody?.content ?? {});
  return [
    ...parameters.filter((each) => each.in === 'query').map(({ name }) => name),
    ...forms.flatMap(({ schema }) => Object.keys((schema?.properties ?? {}) as object)),
  ];
}

const pairs = (documented: Documented): fc.Arbitrary<[string, string][]> => {
  const known = fieldsOf(documented);
  const name =
    known.length === 0 ? names : fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...known) }, names);
  return fc.array(fc.tuple(name, values), { maxLength: 8 });
};

const TOOLS = adminToolsOf(adminOperations).map(({ name }) => name);

/** Messages of a program of the tools, and others. */
const messages = fc
  .record({
    jsonrpc: fc.constantFrom('2.0', '2.0', '2.0', '1.0', 2),
    id: fc.oneof({ weight: 3, arbitrary: fc.integer() }, fc.string(), fc.constantFrom(null, {}, [])),
    method: fc.oneof(
      fc.constantFrom(
        'initialize',
        'ping',
        'tools/list',
        'tools/call',
        'resources/list',
        'notifications/initialized',
      ),
      text,
    ),
    params: fc.oneof(
      fc.jsonValue(),
      fc.record({
        name: fc.oneof(fc.constantFrom(...TOOLS), text),
        arguments: fc.oneof(fc.dictionary(names, fc.jsonValue(), { maxKeys: 3 }), fc.jsonValue()),
        _meta: fc.oneof(
          fc.dictionary(
            fc.oneof(fc.constantFrom('freehold/idempotencyKey', 'freehold/ifMatch'), names),
            fc.jsonValue(),
          ),
          fc.jsonValue(),
        ),
      }),
    ),
  })
  .map((message) => JSON.stringify(message));

const PING = {
  ...{ params: ['', ''], query: [], sender: {}, headers: [], mediaType: null, accept: '*/*' as const },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  ...{ isHead: false, isProper: true },
};

/** One call that is answered, one without a sender, and one that is no message: chance need not find them. */
const TO_THE_TOOLS = [PING, { ...PING, isProper: false }, { ...PING, body: '{' }];

const bodies = (documented: Documented): fc.Arbitrary<string | Uint8Array<ArrayBuffer> | null> =>
  fc.oneof(
    { weight: 3, arbitrary: pairs(documented).map((fields) => encoded(fields)) },
    { weight: 3, arbitrary: hostileBodies },
    {
      weight: documented.operationId.includes('mcp') || documented.operationId.includes('tools') ? 12 : 1,
      arbitrary: messages,
    },
    { weight: 1, arbitrary: fc.constantFrom('x'.repeat(3_000_000), `[${'0,'.repeat(600_000)}0]`) },
  );

function encoded(fields: readonly [string, string][]): string {
  return new URLSearchParams(
    fields.map(([name, value]) => [name.toWellFormed(), value.toWellFormed()]),
  ).toString();
}

/** Statuses that an address documents, with the media types of each. */
function answersOf({ responses }: Documented): ReadonlyMap<number, readonly string[]> {
  return new Map(
    Object.entries(responses).map(([status, given]) => {
      const name = typeof given.$ref === 'string' ? given.$ref.split('/').at(-1) : undefined;
      const answer =
        name === undefined ? given : ((components.responses as Record<string, Part>)[name] ?? {});
      return [Number(status), Object.keys((answer.content ?? {}) as object)];
    }),
  );
}

let accounts = 0;
const ledgers: ConnectionsOptions = {
  providers: {
    ledger: { kind: 'api-key', name: 'Ledger', probe: { endpoint: 'https://ledger.example/me' } },
  },
  keyring: makeKeyring(['a sealing key of the tests, 32 bytes and more']),
  baseUrl: () => ORIGIN,
  fetch: async () => Response.json({ sub: ++accounts }),
};

test(
  'whatever is sent to them is answered as documented, and nothing of it is a fault',
  async () => {
    await using platform = await openRealPlatform({ connections: ledgers, origin: ORIGIN });
    const { hostAdmin, secret } = platform;
    const json = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const ada = { email: 'ada@example.test', name: 'Ada', role: 'operator' };
    await platform.send(
      new Request(`${ORIGIN}/staff`, { method: 'PUT', headers: json, body: JSON.stringify(ada) }),
    );
    await hostAdmin.staff.signIn({
      ...{ sid: 'sid-ada', issuer: ISSUER, subject: 'ada', email: ada.email, emailVerified: true },
      ...{ issuerSid: null, expiresAtMs: Date.parse('2026-12-01T00:00:00.000Z'), requestId: 'req_in' },
    });
    const vertical = await verticalSecret(PLATFORM_SECRET, 'fieldwork');
    const seen = new Set<string>();
    for (const { path, method, documented } of ADDRESSES) {
      const answers = answersOf(documented);
      const requests = fc.record({
        params: fc.array(text, { minLength: 2, maxLength: 2 }),
        query: pairs(documented),
        sender: senders(secret, vertical),
        headers: hostileHeaders,
        mediaType: fc.option(
          fc.constantFrom(...MEDIA_TYPES, ...Object.keys(documented.requestBody?.content ?? {})),
        ),
        accept: fc.constantFrom(
          'text/html',
          'application/json',
          'application/json, text/event-stream',
          '*/*',
        ),
        body: method === 'GET' ? fc.constant(null) : bodies(documented),
        isHead: fc.boolean(),
        isProper: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(requests, async ({ params, query, body, isHead, isProper, ...about }) => {
          const url = new URL(ORIGIN);
          let index = 0;
          url.pathname = path.replaceAll(/\{\w+\}/g, () =>
            encodeURIComponent((params[index++] ?? '').toWellFormed()),
          );
          url.search = encoded(query);
          const { sender, mediaType, accept } = isProper
            ? {
                sender: properSender(path, secret, vertical),
                mediaType: Object.keys(documented.requestBody?.content ?? {})[0] ?? null,
                accept: 'application/json, text/event-stream',
              }
            : about;
          const headers = new Headers({
            ...(isProper ? {} : Object.fromEntries(about.headers)),
            ...sender,
            accept,
          });
          if (mediaType !== null) headers.set('content-type', mediaType);
          const request = new Request(url, {
            method: method === 'GET' && isHead ? 'HEAD' : method,
            headers,
            ...(body === null ? {} : { body }),
          });
          const response = await platform.send(request);
          const answer = await response.text();
          const what = `${request.method} ${path} ${response.status} ${answer.slice(0, 200)}`;
          // A look at an address, which browsers and link checkers send ahead, may be answered with nothing, or refused.
          // Text that a URL reads as another address is answered as that.
          if (!isAt(url.pathname, path) || /"unknown_address"/.test(answer)) return;
          expect(response.status, what).toBeLessThan(500);
          expect([...answers.keys(), ...(request.method === 'HEAD' ? [204, 405] : [])], what).toContain(
            response.status,
          );
          seen.add(`${method} ${path} ${response.status}`);
          const type = response.headers.get('content-type')?.split(';', 1)[0];
          // A person's browser is shown where to sign in: a page for people, which the description leaves out.
          const isSignInPage = response.status === 401 && type === 'text/html' && request.method === 'GET';
          if (isSignInPage) expect(request.headers.get('accept'), what).toContain('text/html');
          else if (answer !== '' && type) expect(answers.get(response.status), what).toContain(type);
        }),
        {
          numRuns: method === 'GET' ? RUNS : 8 * RUNS,
          examples:
            path === '/mcp' && method === 'POST' ? TO_THE_TOOLS.map((each): [typeof each] => [each]) : [],
        },
      );
    }
    expect(platform.incidents).toEqual([]);
    // It got through: refusals of each kind, and answers.
    for (const each of [
      'POST /mcp 200',
      'POST /mcp 401',
      'POST /mcp 400',
      'POST /oauth/token 400',
      'POST /device 400',
    ])
      expect(seen).toContain(each);
  },
  TIMEOUT_MS,
);

function isAt(pathname: string, path: string): boolean {
  const given = pathname.split('/');
  const parts = path.split('/');
  return (
    given.length === parts.length &&
    parts.every((part, at) => (part.startsWith('{') ? given[at] !== '' : part === given[at]))
  );
}
