/** Clients of 2025-11-25 ask their person on the stream of a call, and answer in another request, perhaps at another process. */
import type { WaitingQuestions } from '@freehold/operations/mcp';
import { MCP_META } from '@freehold/operations/mcp';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { fakeScope, sampleOperations } from '../../test/fixtures.ts';
import { ANY_JSON_RPC, modernCall, rpcOf } from '../../test/mcp/messages.ts';
import { openQuestions } from '../../test/mcp/questions.ts';
import { mountOperations } from '../mount-operations.ts';

const MINUTE_MS = 60_000;
const ACCEPTED = { action: 'accept', content: { ok: true } };

/** A process that serves a vertical to one caller. */
function processOf(questions: WaitingQuestions) {
  const app = new Hono();
  const scope = fakeScope(sampleOperations, () => ({ output: null }));
  mountOperations(app, sampleOperations, () => ({ ...scope, questions }));
  return { app, calls: scope.calls };
}

function open(caller = 'prg_1') {
  const rows = openQuestions();
  return { rows, ...processOf(rows.of(caller)) };
}

interface Sending {
  readonly session?: string;
  readonly signal?: AbortSignal;
}

const sent = async (app: Hono, message: object, { session, signal }: Sending = {}) =>
  app.request('/api/mcp', {
    method: 'POST',
    headers: {
      ...ANY_JSON_RPC.headers,
      'mcp-protocol-version': '2025-11-25',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    ...(signal ? { signal } : {}),
  });

async function initialized(app: Hono, elicitation?: object): Promise<string | null> {
  const capabilities = elicitation ? { elicitation } : {};
  const clientInfo = { name: 'test', version: '1.0.0' };
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo };
  const { headers } = await sent(app, { id: 0, method: 'initialize', params });
  return headers.get('mcp-session-id');
}

const begun = async (app: Hono) => z.string().parse(await initialized(app, { form: {} }));

const question = z.object({
  id: z.string(),
  method: z.literal('elicitation/create'),
  params: z.looseObject({ message: z.string() }),
});
const result = z.object({
  id: z.int(),
  result: z.looseObject({
    isError: z.boolean().optional(),
    content: z.tuple([z.looseObject({ text: z.string() })]),
    _meta: z.record(z.string(), z.unknown()).optional(),
  }),
});

let calls = 0;

/** A call that is begun: `next` is what comes down its stream. */
async function call(app: Hono, sending: Pick<Sending, 'session'>) {
  calls += 1;
  const params = { name: 'line_remove', arguments: { order: 'ord_7', number: calls } };
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const { signal } = left;
  const response = await sent(app, { id: calls, method: 'tools/call', params }, { ...sending, signal });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let held = '';
  const next = async (): Promise<unknown> => {
    for (;;) {
      const [event, rest] = held.split('\n\n', 2);
      if (rest !== undefined) {
        held = held.slice((event ?? '').length + 2);
        const data = /^data: (.*)$/m.exec(event ?? '')?.[1];
        return data === undefined ? event : JSON.parse(data);
      }
      const { done, value } = await reader.read();
      if (done) throw new Error('the stream ended');
      held += new TextDecoder().decode(value);
    }
  };
  return {
    id: calls,
    next,
    leave: () => left.abort(),
    asked: async () => question.parse(await next()),
    ended: async () => result.parse(await next()).result,
  };
}

const answered = (app: Hono, id: string, session: string, answer: object = { result: ACCEPTED }) =>
  sent(app, { id, ...answer }, { session });

const refusalOf = ({ isError, _meta }: z.infer<typeof result>['result']) => [
  isError,
  (_meta?.[MCP_META.problem] as { reason?: string } | undefined)?.reason,
];

describe('a session', () => {
  test.each([
    ['forms', { form: {} }, true],
    ['forms and addresses', { form: {}, url: {} }, true],
    ['something, as before 2025-11-25,', {}, true],
    ['addresses alone', { url: {} }, false],
    ['nothing', undefined, false],
  ])('of a client that can show %s', async (_title, elicitation, isBegun) => {
    const { app } = open();
    const session = await initialized(app, elicitation);
    expect(session !== null).toBe(isBegun);
    if (session !== null) expect(session).not.toBe(await initialized(app, elicitation));
  });

  test('is none where nothing can be asked', async () => {
    const app = new Hono();
    mountOperations(app, sampleOperations, () => fakeScope(sampleOperations));
    expect(await initialized(app, { form: {} })).toBeNull();
  });

  test('of another form is not looked at, and neither is one beside a message of 2026-07-28', async () => {
    const { app, calls: made } = open();
    const ended = await (await call(app, { session: '"><script>' })).ended();
    expect(ended.isError).toBeUndefined();
    const session = await begun(app);
    const modern = modernCall('tools/call', { name: 'line_remove', arguments: { order: 'o', number: 1 } });
    const headers = { ...modern.headers, 'mcp-session-id': session };
    expect(
      (await rpcOf(await app.request('/api/mcp', { ...modern, headers }))).result.isError,
    ).toBeUndefined();
    expect(made).toHaveLength(2);
  });
});

describe('a question', () => {
  test('is answered at another process, and its call is made once', async () => {
    const { rows, app, calls: made } = open();
    const other = processOf(rows.of('prg_1'));
    const session = await begun(app);
    const { asked, ended, id: callId } = await call(app, { session });
    const { id, params } = await asked();
    expect(params).toMatchObject({
      mode: 'form',
      message: `A sample (line_remove)?\n\norder: ord_7\nnumber: ${callId}`,
      requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
    });
    expect((await answered(other.app, id, session)).status).toBe(202);
    expect((await ended()).isError).toBeUndefined();
    const again = await answered(other.app, id, session);
    expect([again.status, await again.json()]).toEqual([
      400,
      {
        jsonrpc: '2.0',
        id: null,
        error: { code: -32600, message: expect.stringContaining('answered before') },
      },
    ]);
    expect([made.length, other.calls]).toEqual([1, []]);
    expect(made[0]?.idempotencyKey).toMatch(/^consent-/);
  });

  test('takes its first answer: a later one, and the same again, count for nothing', async () => {
    const { rows, app, calls: made } = open();
    const session = await begun(app);
    const { asked, ended } = await call(app, { session });
    const { id } = await asked();
    const both = await Promise.all([
      answered(app, id, session, { result: { action: 'decline' } }),
      answered(processOf(rows.of('prg_1')).app, id, session),
    ]);
    expect(both.map(({ status }) => status)).toEqual([202, 400]);
    expect(refusalOf(await ended())).toEqual([true, 'consent_declined']);
    expect(made).toEqual([]);
  });

  test.each([
    ['of another session', 'prg_1', true],
    ['of another program, or another person', 'prg_2', false],
  ])('takes no answer %s', async (_title, caller, isOther) => {
    const { rows, app, calls: made } = open();
    const session = await begun(app);
    const { asked, ended } = await call(app, { session });
    const { id } = await asked();
    const { app: theirs } = processOf(rows.of(caller));
    const from = isOther ? await begun(theirs) : session;
    expect((await answered(theirs, id, from)).status).toBe(400);
    expect(made).toEqual([]);
    await answered(app, id, session, { result: { action: 'cancel' } });
    expect(refusalOf(await ended())).toEqual([true, 'consent_cancelled']);
    expect(made).toEqual([]);
  });

  test('of each of two calls at a time has its own answer', async () => {
    const { app, calls: made } = open();
    const session = await begun(app);
    const [one, other] = [await call(app, { session }), await call(app, { session })];
    const [{ id }, declined] = [await one.asked(), await other.asked()];
    await answered(app, declined.id, session, { result: { action: 'decline' } });
    await answered(app, id, session);
    expect((await one.ended()).isError).toBeUndefined();
    expect((await other.ended()).isError).toBe(true);
    expect(made.map(({ input }) => input)).toEqual([{ order: 'ord_7', number: one.id }]);
  });

  test('that is not answered within ten minutes ends, and its call does nothing', async () => {
    const { rows, app, calls: made } = open();
    const session = await begun(app);
    const { asked, ended } = await call(app, { session });
    const { id } = await asked();
    rows.clock.ms += 10 * MINUTE_MS;
    expect((await answered(app, id, session)).status).toBe(400);
    const said = await ended();
    expect(refusalOf(said)).toEqual([true, 'consent_cancelled']);
    expect(said.content[0].text).toContain('The person gave no answer: nothing was done.');
    expect(made).toEqual([]);
  });

  test.each([
    ['its client cannot ask', { error: { code: -32601, message: 'Method not found' } }, 'consent_cancelled'],
    ['the box is not ticked', { result: { action: 'accept', content: { ok: false } } }, 'consent_declined'],
  ])('is no agreement where %s', async (_title, answer, reason) => {
    const { app, calls: made } = open();
    const session = await begun(app);
    const { asked, ended } = await call(app, { session });
    await answered(app, (await asked()).id, session, answer);
    expect(refusalOf(await ended())).toEqual([true, reason]);
    expect(made).toEqual([]);
  });

  test('is asked again when the form came back without its box, three times at most', async () => {
    const { app, calls: made } = open();
    const session = await begun(app);
    const { asked, ended } = await call(app, { session });
    for (const _time of [1, 2, 3])
      await answered(app, (await asked()).id, session, { result: { action: 'accept', content: {} } });
    expect(refusalOf(await ended())).toEqual([true, 'consent_cancelled']);
    expect(made).toEqual([]);
  });

  test('ends when its client gives up the call, whichever process hears of it', async () => {
    const { rows, app, calls: made } = open();
    const other = processOf(rows.of('prg_1'));
    const session = await begun(app);
    const { id: requestId, asked, ended } = await call(app, { session });
    const { id } = await asked();
    const cancelled = { method: 'notifications/cancelled', params: { requestId } };
    expect((await sent(other.app, cancelled, { session })).status).toBe(202);
    expect((await answered(app, id, session)).status).toBe(400);
    expect(refusalOf(await ended())).toEqual([true, 'consent_cancelled']);
    expect(made).toEqual([]);
  });

  test('ends when the connection of its call does', async () => {
    const { app, calls: made } = open();
    const session = await begun(app);
    const { asked, leave } = await call(app, { session });
    const { id } = await asked();
    leave();
    await expect.poll(async () => (await answered(app, id, session)).status).toBe(400);
    expect(made).toEqual([]);
    // Its row is gone: as many can wait as before.
    for (const _each of Array.from({ length: 10 })) await (await call(app, { session })).asked();
  });

  test('ends when its process stops, and its client is told', async () => {
    const stopping = new AbortController();
    const { app, calls: made } = processOf({ ...openQuestions().of('prg_1'), until: stopping.signal });
    const session = await begun(app);
    const { asked, ended } = await call(app, { session });
    const { id } = await asked();
    stopping.abort();
    expect(refusalOf(await ended())).toEqual([true, 'consent_cancelled']);
    expect((await answered(app, id, session)).status).toBe(400);
    expect(made).toEqual([]);
  });

  test('has its stream held open by a comment every fifteen seconds: no proxy takes it for dead', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { app } = open();
    const { asked, next } = await call(app, { session: await begun(app) });
    await asked();
    vi.advanceTimersByTime(15_000);
    expect(await next()).toBe(': keepalive');
  });

  test('is the last of ten of one program: the next call is refused, and those of other programs are not', async () => {
    const { rows, app, calls: made } = open();
    const session = await begun(app);
    const waiting = [];
    for (const _each of Array.from({ length: 10 })) waiting.push(await call(app, { session }));
    const { id } = await (waiting[0] as (typeof waiting)[0]).asked();
    expect(refusalOf(await (await call(app, { session })).ended())).toEqual([true, 'questions_waiting']);
    const { app: another } = processOf(rows.of('prg_2'));
    await (await call(another, { session: await begun(another) })).asked();
    await answered(app, id, session);
    await waiting[0]?.ended();
    await (await call(app, { session })).asked();
    expect(made).toHaveLength(1);
  });
});
