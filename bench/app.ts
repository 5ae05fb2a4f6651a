/**
 * The time to open and close one instance of an application in memory, as each test of a builder does; and a tool call of a
 * program that was let in, beside the same call with its person's session.
 */
import { createHash } from 'node:crypto';
import { testApp } from '@freehold/app/testing';
import { fieldwork } from '@freehold/fieldwork';
import { compare, type Row, within } from './harness.ts';

const LIMIT_MS = 50;
/** A grant costs no more than a tenth beside the session. */
const NEAR_SESSION = 0.9;

export async function benchApp(): Promise<Row[]> {
  const open = async (): Promise<void> => {
    await using instance = await testApp(fieldwork);
    const { principal } = instance.as('ada', { role: 'owner' });
    await principal();
  };
  // The first one loads modules and applies the migrations.
  await open();
  return [await within('an instance of fieldwork in memory', LIMIT_MS, open), await benchPrograms()];
}

async function benchPrograms(): Promise<Row> {
  await using instance = await testApp(fieldwork);
  const ada = instance.as('ada', { role: 'owner' });
  const token = await letIn(instance.origin, ada.http);
  const call = (http: typeof ada.http, credentials: Record<string, string>) => async (): Promise<void> => {
    const response = await http('POST', '/api/mcp', TOOL, { ...HEADERS, ...credentials });
    const said = await response.text();
    if (!said.includes('"isError":false') && !said.includes('structuredContent'))
      throw new Error(`the tool was answered ${response.status}: ${said}`);
  };
  return await compare(
    {
      name: 'a tool call of a program',
      against: 'the same call with a session',
      ours: call(instance.anonymous.http, { authorization: `Bearer ${token}` }),
      peer: call(ada.http, {}),
    },
    NEAR_SESSION,
  );
}

type Http = ReturnType<Awaited<ReturnType<typeof testApp>>['as']>['http'];

/** Registers a program, lets it in for everything, and returns its access token. */
async function letIn(origin: string, http: Http): Promise<string> {
  const redirect = 'http://127.0.0.1/callback';
  const verifier = 'v'.repeat(43);
  const form = { 'content-type': 'application/x-www-form-urlencoded', origin };
  const post = (path: string, fields: Record<string, string>) =>
    http('POST', path, new URLSearchParams(fields).toString(), form);
  // A measurement makes more calls than the limit of a program.
  await post('/oauth/programs/policy', { programs: 'any', hosts: '', callsPerMinute: '', mails: 'yes' });
  const client = { client_name: 'bench', redirect_uris: [redirect], token_endpoint_auth_method: 'none' };
  const registered = await http('POST', '/oauth/register', client);
  const { client_id } = (await registered.json()) as { client_id: string };
  const asked = new URLSearchParams({
    ...{ response_type: 'code', client_id, redirect_uri: redirect, code_challenge_method: 'S256' },
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  });
  const page = await (await http('GET', `/oauth/authorize?${asked}`)).text();
  const ticket = /name="ticket" value="([^"]+)"/.exec(page)?.[1] ?? '';
  const consented = await post('/oauth/consent', { ticket, answer: 'yes', access: 'all' });
  const code = new URL(consented.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const granted = await post('/oauth/token', {
    ...{ grant_type: 'authorization_code', client_id, code, code_verifier: verifier },
  });
  const { access_token } = (await granted.json()) as { access_token?: string };
  if (access_token === undefined) throw new Error(`no token was given: ${granted.status}`);
  return access_token;
}

const REVISION = '2026-07-28';
const HEADERS = {
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': REVISION,
  'mcp-method': 'tools/call',
  'mcp-name': 'order_list',
};
const TOOL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'order_list',
    arguments: {},
    _meta: {
      'io.modelcontextprotocol/protocolVersion': REVISION,
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
};
