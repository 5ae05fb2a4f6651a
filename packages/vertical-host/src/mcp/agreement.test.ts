/** A destructive call of a program at a vertical: the person reads its arguments first, where their client can ask them. */
import { PlatformError } from '@freehold/contracts';
import { MCP_META } from '@freehold/operations/mcp';
import { Client, type ElicitResult, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { fakeScope, sampleOperations } from '../../test/fixtures.ts';
import { modernCall, rpcOf } from '../../test/mcp/messages.ts';
import { openQuestions } from '../../test/mcp/questions.ts';
import { mountOperations } from '../mount-operations.ts';

const remove = { order: 'ord_7', number: 2, reason: 'broken' };
const accept: ElicitResult = { action: 'accept', content: { ok: true } };

/** A vertical where lines are removed. @param isAllowed whether its caller may do so. */
function open(isAllowed = true) {
  const app = new Hono();
  const scope = fakeScope(sampleOperations, () => {
    if (!isAllowed) throw new PlatformError('forbidden', 'You may not do this.');
    return { output: null };
  });
  const listable = async (names: readonly string[]) => (isAllowed ? names : []);
  const questions = openQuestions().of('prg_1');
  mountOperations(app, sampleOperations, () => ({ ...scope, listable, questions }));
  return { app, calls: scope.calls };
}

/** @param answer null: the client does not say that it can ask. */
async function connect(
  app: Hono,
  answer: ((message: string) => ElicitResult) | null,
  mode: 'auto' | 'legacy' = 'auto',
): Promise<Client> {
  const capabilities = answer ? { elicitation: { form: {} } } : {};
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode }, capabilities },
  );
  if (answer) client.setRequestHandler('elicitation/create', ({ params }) => answer(params.message));
  const fetch = async (url: string | URL, init?: RequestInit) => app.request(String(url), init);
  await client.connect(new StreamableHTTPClientTransport(new URL('http://localhost/api/mcp'), { fetch }));
  return client;
}

const called = (client: Client, name: string, args: object) =>
  client.callTool({ name, arguments: { ...args } });
const neverAsked = () => {
  throw new Error('the person was asked');
};

describe.each(['auto', 'legacy'] as const)('a client that can ask, of %s', (mode) => {
  test('shows the arguments, and makes the call that its person agrees to', async () => {
    const { app, calls } = open();
    const asked: string[] = [];
    const client = await connect(
      app,
      (message) => {
        asked.push(message);
        expect(calls).toEqual([]);
        return accept;
      },
      mode,
    );
    expect((await called(client, 'line_remove', remove)).isError).toBeUndefined();
    expect(asked).toEqual(['A sample (line_remove)?\n\norder: ord_7\nnumber: 2\nreason: broken']);
    expect(calls).toEqual([
      { operation: 'line/remove', input: remove, idempotencyKey: expect.stringMatching(/^consent-/) },
    ]);
    await client.close();
  });

  test.each([
    ['declines', { action: 'decline' }, 'consent_declined'],
    ['says no', { action: 'accept', content: { ok: false } }, 'consent_declined'],
    ['closes the question', { action: 'cancel' }, 'consent_cancelled'],
  ] as const)('does nothing where the person %s, and says so', async (_title, answer, reason) => {
    const { app, calls } = open();
    const client = await connect(app, () => ({ ...answer }) as ElicitResult, mode);
    const refused = await called(client, 'line_remove', remove);
    expect([refused.isError, refused._meta?.[MCP_META.problem]]).toMatchObject([
      true,
      { code: 'forbidden', reason },
    ]);
    expect(calls).toEqual([]);
    await client.close();
  });

  test.each([
    ['destroys nothing', true, 'order_update', { id: 'ord_7', note: null }, 1],
    ['is not valid', true, 'line_remove', { ...remove, number: 0 }, 0],
    ['its caller may not make', false, 'line_remove', remove, 1],
  ] as const)('asks nothing before a call that %s', async (_title, isAllowed, name, args, reaching) => {
    const { app, calls } = open(isAllowed);
    const client = await connect(app, neverAsked, mode);
    await called(client, name, args);
    expect(calls).toHaveLength(reaching);
    expect(calls[0]?.idempotencyKey).toBeUndefined();
    await client.close();
  });

  test('is not told to', async () => {
    const client = await connect(open().app, neverAsked, mode);
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'line_remove')?.description).toBe('A sample');
    await client.close();
  });
});

describe('an answer', () => {
  const meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
  const agreed = { inputResponses: { consent: accept } };
  const sent = async (app: Hono, args: object, more: object = {}, ours: object = {}) => {
    const params = { name: 'line_remove', arguments: args, ...more };
    return (
      await rpcOf(await app.request('/api/mcp', modernCall('tools/call', params, { ...meta, ...ours })))
    ).result;
  };
  const asked = async () => {
    const { app, calls } = open();
    const { resultType, requestState } = await sent(app, remove);
    expect(resultType).toBe('input_required');
    return { app, calls, requestState };
  };

  test('that is repeated brings the same key, so that the call is made once', async () => {
    const { app, calls, requestState } = await asked();
    for (const _again of [1, 2]) await sent(app, remove, { ...agreed, requestState });
    expect(calls).toHaveLength(2);
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    const { requestState: another } = await sent(app, remove);
    await sent(app, remove, { ...agreed, requestState: another });
    expect(calls[2]?.idempotencyKey).not.toBe(calls[0]?.idempotencyKey);
  });

  test('leaves the key that the client chose', async () => {
    const { app, calls, requestState } = await asked();
    await sent(app, remove, { ...agreed, requestState }, { [MCP_META.idempotencyKey]: 'k-1' });
    expect(calls[0]?.idempotencyKey).toBe('k-1');
  });

  test.each([
    ['to other arguments', { ...remove, number: 3 }, (state: string) => state],
    [
      'whose state was changed',
      remove,
      (state: string) => `${state.slice(0, -1)}${state.endsWith('A') ? 'B' : 'A'}`,
    ],
    ['whose state is of another form', remove, () => 'x'],
    ['without a state', remove, () => undefined],
  ])('%s is none: the person is asked', async (_title, args, change) => {
    const { app, calls, requestState } = await asked();
    const { resultType } = await sent(app, args, { ...agreed, requestState: change(String(requestState)) });
    expect(resultType).toBe('input_required');
    expect(calls).toEqual([]);
  });
});

test.each([
  ['auto', null],
  ['legacy', null],
] as const)(
  'a client of %s that cannot be asked is told by the tool to ask, and calls',
  async (mode, answer) => {
    const { app, calls } = open();
    const client = await connect(app, answer, mode);
    const { tools } = await client.listTools();
    const descriptionOf = (name: string) => tools.find((tool) => tool.name === name)?.description;
    expect(descriptionOf('line_remove')).toBe('A sample. Ask your person before you call it.');
    expect(descriptionOf('order_update')).toBe('A sample');
    await called(client, 'line_remove', remove);
    expect(calls).toEqual([{ operation: 'line/remove', input: remove }]);
    await client.close();
  },
);
