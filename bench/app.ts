/**
 * The time to open and close one instance of an application in memory, as each test of a builder does; and a tool call of a
 * program that was let in, beside the same call with its person's session.
 */
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
  const form = {
    'content-type': 'application/x-www-form-urlencoded',
    origin: instance.origin,
  };
  const fields = new URLSearchParams({ name: 'bench', days: '30', access: 'all' }).toString();
  const made = await ada.http('POST', '/oauth/programs/tokens', fields, form);
  const token = /fh_personal_[0-9A-Za-z]+/.exec(await made.text())?.[0];
  if (token === undefined) throw new Error(`no token was made: ${made.status}`);
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
