/** Documents that describe clients: read once, and only when they are what they must be. */
import { describe, expect, test } from 'vitest';
import { openServer, query, WEB } from '../../../test/programs.ts';
import { isDocumentId, makeClientDocuments } from './client-document.ts';

const ID = 'https://agent.example/oauth/client.json';
const DOCUMENT = { client_id: ID, client_name: 'Agent', redirect_uris: [WEB] };
const NEVER = new AbortController().signal;

function documentOf(value: unknown, init: ResponseInit = {}): Response {
  const body = typeof value === 'string' ? value : JSON.stringify(value);
  return new Response(body, { headers: { 'content-type': 'application/json' }, ...init });
}

function open(answer: () => Response | Promise<Response>) {
  const asked: { readonly url: string; readonly init: RequestInit; readonly issuer: string }[] = [];
  const clock = { nowMs: 0 };
  const documents = makeClientDocuments({
    fetch: async (url, init, { issuer }) => {
      asked.push({ url, init, issuer });
      return answer();
    },
    now: () => clock.nowMs,
    deadline: () => NEVER,
  });
  return { documents, asked, clock };
}

test('a document is fetched without redirects, once for many, and again after five minutes', async () => {
  const { documents, asked, clock } = open(() => documentOf(DOCUMENT));
  const [client] = await Promise.all([documents.load(ID), documents.load(ID)]);
  expect(client).toEqual({
    id: ID,
    kind: 'document',
    name: 'Agent',
    redirectUris: [WEB],
    authMethod: 'none',
  });
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatchObject({ url: ID, init: { redirect: 'manual' } });
  // No exemption of an issuer from the guard is for this fetch.
  expect(URL.canParse(asked[0]?.issuer ?? '')).toBe(false);
  clock.nowMs += 5 * 60_000;
  await documents.load(ID);
  expect(asked).toHaveLength(2);
});

describe('a document is refused', () => {
  const answers: readonly (readonly [string, () => Response])[] = [
    ['that redirects', () => new Response(null, { status: 302, headers: { location: 'http://10.0.0.1/' } })],
    ['that is not found', () => documentOf(DOCUMENT, { status: 404 })],
    ['that is a page', () => documentOf(DOCUMENT, { headers: { 'content-type': 'text/html' } })],
    ['that is larger than 5 KiB', () => documentOf({ ...DOCUMENT, logo_uri: 'x'.repeat(6_000) })],
    [
      'that says it is larger',
      () =>
        documentOf(DOCUMENT, { headers: { 'content-type': 'application/json', 'content-length': '6000' } }),
    ],
    ['that is no JSON', () => documentOf('{')],
    ['that is a list', () => documentOf([DOCUMENT])],
    [
      'of another client',
      () => documentOf({ ...DOCUMENT, client_id: 'https://agent.example/oauth/other.json' }),
    ],
    ['that holds a secret', () => documentOf({ ...DOCUMENT, client_secret: 'x' })],
    [
      'that shares a secret',
      () => documentOf({ ...DOCUMENT, token_endpoint_auth_method: 'client_secret_post' }),
    ],
    ['that returns to a script', () => documentOf({ ...DOCUMENT, redirect_uris: ['javascript:alert(1)'] })],
    ['that returns nowhere', () => documentOf({ client_id: ID })],
    [
      'that the guard does not reach',
      () => {
        throw new TypeError('This address is not public.');
      },
    ],
  ];
  test.each(answers)('%s', async (_, answer) => {
    const { documents, asked } = open(answer);
    const refused = await documents.load(ID).catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: 'OAuthError' });
    expect(String(refused)).not.toContain('10.0.0.1');
    // An address that fails is not asked again at once.
    await documents.load(ID).catch(() => undefined);
    expect(asked).toHaveLength(1);
  });

  test('that does not come in time', async () => {
    const documents = makeClientDocuments({
      fetch: () => new Promise(() => undefined),
      now: () => 0,
      deadline: () => AbortSignal.abort(new Error('late')),
    });
    await expect(documents.load(ID)).rejects.toMatchObject({ code: 'invalid_client' });
  });
});

test.each([
  'http://agent.example/client.json',
  'https://agent.example',
  'https://agent.example/',
  'https://agent.example/a/../client.json',
  'https://agent.example/%2e%2e/client.json',
  'https://agent.example/client.json#a',
  'https://ada:pw@agent.example/client.json',
  'https://AGENT.example/client.json',
  'https://agent.example:443/client.json',
  `https://agent.example/${'x'.repeat(500)}`,
])('%s is no id of a document', (id) => {
  expect(isDocumentId(id)).toBe(false);
});

test('a document that changes after the consent page changes nothing of what was shown', async () => {
  let document: object = DOCUMENT;
  const { server, ada, clock } = await openServer({ fetch: async () => documentOf(document) });
  const ticket = server.makeTicket(await server.readRequest(query(ID, { redirect_uri: WEB })), ada);
  document = { ...DOCUMENT, client_name: 'Bank', redirect_uris: ['https://evil.example/callback'] };
  clock.nowMs += 6 * 60_000;
  const shown = server.openTicket(ticket, ada);
  expect(shown).toMatchObject({ client: { name: 'Agent' }, host: 'agent.example', redirectUri: WEB });
  // The next request is judged by the new document.
  await expect(server.readRequest(query(ID, { redirect_uri: WEB }))).rejects.toMatchObject({
    code: 'invalid_redirect_uri',
  });
});
