/**
 * The summary of an order for its customer, over HTTP, with a server in the provider's place that speaks OpenAI's wire
 * well and badly (spec 2.8, 4.8: D-18 to D-22).
 */
import { MODEL_USAGE_KIND, type ModelUsage, modelUsageLine, type PlatformError } from '@freehold/contracts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type SummaryMessage,
  summaryMessage,
  summaryOffer,
  summaryResponse,
} from '../src/summaries/schema.ts';
import { type Fixture, type Instance, joinTeam, openFixture, type Visitor } from './fixture.ts';
import { type ModelServer, refuses, startModelServer, streams, talks, whole } from './model-server.ts';

const KEY = 'sk-platform';
const SPEC = 'openai-compatible:llama3.2:3b';

let server: ModelServer;
let fixture: Fixture;
let ada: Visitor;
let order: string;

const reach = () => ({
  FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL: server.url,
  FREEHOLD_MODEL_OPENAI_COMPATIBLE_API_KEY: KEY,
});

async function open(bindings: Record<string, string> = { FREEHOLD_MODEL: SPEC, ...reach() }): Promise<void> {
  fixture = await openFixture({}, { bindings });
  ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
  await ada.get('/api/me');
  const { id: customer } = await ada.post<{ id: string }>('/api/customers', {
    name: 'Erika Müller',
    phone: '+49 30 12345678',
    email: 'erika@example.org',
    language: 'de',
  });
  const { id: site } = await ada.post<{ id: string }>('/api/sites', {
    customer,
    label: 'Home',
    street: 'Lindenstraße 17',
    postcode: '10969',
    city: 'Berlin',
    access: 'Key under the frog',
  });
  const opened = await ada.post<{ id: string }>('/api/orders', {
    customer,
    site,
    title: 'Boiler of Mrs Müller',
    description: 'Call 030/12345678 or erika@example.org before you come to the Lindenstraße.',
  });
  order = opened.id;
  await ada.post(`/api/orders/${order}/schedule`, {
    from: '2026-03-04T10:00:00.000Z',
    to: '2026-03-04T12:00:00.000Z',
  });
  await ada.post(`/api/orders/${order}/notes`, { text: 'Ask for Erika, the key is under the frog.' });
}

beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  const { incidents } = fixture;
  await fixture[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  expect(incidents.splice(0)).toEqual([]);
});

const path = () => `/api/orders/${order}/summary`;
const GERMAN = { language: 'de', timeZone: 'Europe/Berlin' };

/** Asks for the events, and answers them all. */
async function ask(visitor = ada, body: object = GERMAN): Promise<SummaryMessage[]> {
  const response = await visitor.request('POST', path(), body, { accept: 'text/event-stream' });
  expect(response.status, response.ok ? '' : await response.clone().text()).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('cache-control')).toBe('private, no-store');
  return messagesIn(await response.text());
}

const messagesIn = (text: string): SummaryMessage[] =>
  text
    .split('\n\n')
    .filter((part) => part !== '')
    .map((part) => summaryMessage.parse(JSON.parse(part.replace(/^data: /, ''))));
const textOf = (messages: readonly SummaryMessage[]): string =>
  messages.map((each) => (each.type === 'text' ? each.text : '')).join('');

/** The lines that wait for the platform's collector, read as the control plane reads them. */
async function waiting(
  at: Instance = fixture.pipes,
): Promise<{ readonly by: string; readonly line: ModelUsage }[]> {
  const query = new URLSearchParams({ tenantId: at.tenant, scopeId: at.scope, kind: MODEL_USAGE_KIND });
  const response = await fixture.platform('GET', `/internal/platform-requests?${query}`);
  const { items } = (await response.json()) as { items: { requestedBy: string; payload: unknown }[] };
  return items.map(({ requestedBy, payload }) => ({ by: requestedBy, line: modelUsageLine.parse(payload) }));
}

const entitle = (value: unknown, expiresAtMs?: number) =>
  fixture.fieldwork.host.scope(fixture.pipes.scope).projectEntitlements({
    entitlements: {
      assistant: { value: value as never, ...(expiresAtMs === undefined ? {} : { expiresAtMs }) },
    },
  });

describe('a summary', () => {
  test('of a cancelled order is made: its event names the state before it, which is no time', async () => {
    await open();
    server.answer(streams(['Abgesagt.']));
    await ada.post(`/api/orders/${order}/cancel`, { reason: 'customer' });
    expect(textOf(await ask())).toBe('Abgesagt.');
  });

  test('D-18, D-22 comes as the model writes it, and its usage is a request to the platform', async () => {
    await open();
    expect(summaryOffer.parse(await ada.get(path()))).toEqual({
      available: true,
      detail: null,
      language: 'de',
    });
    server.answer(streams(['Ihr Kessel ', 'wird am Mittwoch repariert.']));
    expect(await ask()).toEqual([
      { type: 'text', text: 'Ihr Kessel ' },
      { type: 'text', text: 'wird am Mittwoch repariert.' },
      { type: 'end', finish: 'stop' },
    ]);
    const { tenant, scope } = fixture.pipes;
    expect(await waiting()).toEqual([
      {
        by: 'service:assistant',
        line: {
          spec: SPEC,
          outcome: 'completed',
          inputTokens: 120,
          cachedInputTokens: 0,
          cacheWriteTokens: 0,
          outputTokens: 30,
          reasoningTokens: 0,
          reported: true,
          listUsd: null,
          pricesAsOf: null,
          attribution: {
            tenant,
            scope,
            vertical: 'fieldwork',
            version: '0.1.0',
            operation: 'order/summarise',
          },
        },
      },
    ]);
    expect(await waiting(fixture.sparks)).toEqual([]);
  });

  test('is asked for with the platform’s key, in the language, with the times of the time zone', async () => {
    await open();
    await ask();
    const [asked] = server.asked;
    expect(asked).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${KEY}` },
      body: { model: 'llama3.2:3b', stream: true, max_tokens: 1_500 },
    });
    const [system, user] = asked?.body.messages ?? [];
    expect(system?.content).toContain('in German');
    expect(user?.content).toContain('Wednesday, 4 March 2026 at 11:00 to Wednesday, 4 March 2026 at 13:00');
  });

  test('leaves out how the customer is called and reached, and what the team noted', async () => {
    await open();
    await ask();
    await ask(ada, { ...GERMAN, notes: true });
    const [without, withNotes] = server.asked.map(({ body }) => JSON.stringify(body));
    for (const sent of [without, withNotes])
      expect(sent).not.toMatch(/müller|erika|12345678|example\.org|linden|berlin|10969|frog|ada|prn_|cus_/i);
    expect(without).toContain('Boiler of Mrs [customer]');
    expect(without).not.toContain('Ask for');
    expect(withNotes).toContain('Ask for [customer], the key is [address] the [address].');
  });

  test('comes whole for a reader who takes no events, and from a server that does not stream', async () => {
    await open();
    server.answer(whole('Kurz.'));
    const answer = summaryResponse.parse(await ada.post(path(), { language: 'fr' }));
    expect(answer).toEqual({ text: 'Kurz.', finish: 'stop' });
    expect(await ask()).toEqual([
      { type: 'text', text: 'Kurz.' },
      { type: 'end', finish: 'stop' },
    ]);
    expect(server.asked.map(({ body }) => body.stream ?? false)).toEqual([false, true]);
    expect((await waiting()).map(({ line }) => [line.reported, line.outputTokens])).toEqual([
      [true, 30],
      [true, 30],
    ]);
  });

  test.each([
    ['of a stream', (): void => server.answer(streams(['Half a'], { finish: 'length' }))],
    ['of a whole answer', (): void => server.answer(whole('Half a', { finish: 'length' }))],
  ])('says when it was cut off: the limit %s', async (_what, answer) => {
    await open();
    answer();
    expect((await ask()).at(-1)).toEqual({ type: 'end', finish: 'length' });
  });

  test('D-20 that a provider does not count is on a line that says so', async () => {
    await open();
    server.answer(streams(['Well.'], { usage: null }));
    expect((await ask()).at(-1)).toEqual({ type: 'end', finish: 'stop' });
    expect((await waiting()).map(({ line }) => line)).toMatchObject([
      { outcome: 'completed', reported: false, inputTokens: 0, outputTokens: 0 },
    ]);
  });

  test('is priced by the card that the platform is bound to', async () => {
    const rate = { input: '1', output: '10' };
    const row = { asOf: '2026-01-31', source: 'our contract', models: { 'llama3.2:3b': rate } };
    await open({
      FREEHOLD_MODEL: SPEC,
      ...reach(),
      FREEHOLD_MODEL_RATE_CARD: JSON.stringify({ 'openai-compatible': row }),
    });
    await ask();
    expect((await waiting()).map(({ line }) => [line.listUsd, line.pricesAsOf])).toEqual([
      [0.000_42, '2026-01-31'],
    ]);
  });
});

describe('what goes wrong at the provider is told, without its words', () => {
  test.each([
    ['401', refuses(401), 503, 'model_credentials', null, 2],
    ['402', refuses(402), 503, 'model_quota', null, 2],
    ['404', refuses(404), 501, 'model_unknown', null, 2],
    ['422', refuses(422), 502, 'model_request', null, 2],
    ['429', refuses(429, { 'retry-after': '17' }), 429, 'model_rate_limited', '17', 0],
    ['500', refuses(500), 503, 'model_unavailable', null, 0],
  ])('%s, before anything was spent', async (_status, reply, status, reason, retryAfter, incidents) => {
    await open();
    server.answer(reply);
    for (const accept of ['text/event-stream', 'application/json']) {
      const response = await ada.request('POST', path(), GERMAN, { accept });
      expect(response.headers.get('retry-after')).toBe(retryAfter);
      const text = await response.text();
      expect(JSON.parse(text)).toMatchObject({
        status,
        reason,
        detail: expect.stringMatching(/^[A-Z].*\.$/),
      });
      expect(text).not.toMatch(/sk-|openai/);
    }
    expect(server.asked).toHaveLength(2);
    expect(await waiting()).toEqual([]);
    // The operator learns of failures that only the operator can repair.
    expect(fixture.incidents.splice(0).map((each) => (each as PlatformError).reason)).toEqual(
      Array(incidents).fill(reason),
    );
  });

  test.each([
    ['a page', talks('<h1>It works!</h1>')],
    ['JSON of something else', talks('{"ok":true}', 'application/json')],
    ['half of an answer', talks('{"choices":[{"mess', 'application/json')],
    ['an event that is no JSON', talks('data: {"half\n\n', 'text/event-stream')],
  ])('an answer that cannot be read: %s', async (_what, reply) => {
    await open();
    server.answer(reply);
    const problem = await ada.refused('POST', path(), GERMAN, { accept: 'text/event-stream' });
    expect(problem).toMatchObject({ status: 502, reason: 'model_answer' });
    expect((await waiting()).map(({ line }) => line)).toMatchObject([{ outcome: 'failed', reported: false }]);
  });

  test.each(['open', 'broken'] as const)(
    'D-20 a stream that is cut off (%s): the text so far, then the problem, and a line',
    async (end) => {
      await open();
      server.answer(
        streams(['Half ', 'a '], { end, pause: () => new Promise((done) => setImmediate(done)) }),
      );
      const messages = await ask();
      expect(textOf(messages)).toMatch(/^Half /);
      expect(messages.at(-1)).toMatchObject({ type: 'problem', problem: { reason: 'model_answer' } });
      expect((await waiting()).map(({ line }) => line)).toMatchObject([
        { outcome: 'failed', reported: false },
      ]);
    },
  );

  test('no server there', async () => {
    await open();
    await server[Symbol.asyncDispose]();
    expect(await ada.refused('POST', path(), GERMAN)).toMatchObject({
      status: 503,
      reason: 'model_unreachable',
    });
    expect(await waiting()).toEqual([]);
    server = await startModelServer();
  });

  test('a reader who leaves half way stops the provider, and the known tokens are on a line', async () => {
    await open();
    server.answer(streams(['Half ', 'a '], { pause: () => new Promise(() => undefined) }));
    const response = await ada.request('POST', path(), GERMAN, { accept: 'text/event-stream' });
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await expect.poll(server.left).toBe(1);
    expect((await waiting()).map(({ line }) => line)).toMatchObject([
      { outcome: 'cancelled', reported: false },
    ]);
  });
});

describe('before anybody is asked', () => {
  test('without a model, one sentence says what is missing and who can set it', async () => {
    await open({});
    const detail =
      'This needs a language model, and none is set up here: the operator of this platform names one in FREEHOLD_MODEL.';
    expect(await ada.get(path())).toEqual({ available: false, detail, language: 'de' });
    expect(await ada.refused('POST', path(), GERMAN)).toMatchObject({
      status: 503,
      reason: 'model_not_configured',
      detail,
    });
  });

  test('D-21 the model can be delivered, what reaches it cannot', async () => {
    await open(reach());
    const { pipes } = fixture;
    const deliver = (config: Record<string, string>) =>
      fixture.platform('POST', '/internal/configure', {
        tenantId: pipes.tenant,
        scopeId: pipes.scope,
        config,
      });
    const usable = await deliver({ FREEHOLD_MODEL: SPEC });
    expect(await usable.json()).toEqual({ keys: expect.arrayContaining(['FREEHOLD_MODEL']) });
    expect(textOf(await ask())).toBe('All is well.');
    const unusable = await deliver({
      FREEHOLD_MODEL: 'openai:gpt-5',
      FREEHOLD_MODEL_OPENAI_API_KEY: 'sk-tenant',
    });
    expect(await unusable.json()).toMatchObject({
      warnings: [
        { code: 'model_unusable', detail: expect.stringContaining('FREEHOLD_MODEL_OPENAI_API_KEY') },
      ],
    });
    expect(await ada.get(path())).toMatchObject({
      available: false,
      detail:
        'This needs a language model, and the one that is named here cannot be reached yet: the operator of this platform sets FREEHOLD_MODEL_OPENAI_API_KEY.',
    });
    expect(server.asked).toHaveLength(1);
  });

  test('D-19 only an entitled tenant may, where entitlements count', async () => {
    await open({ FREEHOLD_MODEL: SPEC, ...reach(), FREEHOLD_MODEL_ACCESS: 'entitled' });
    const refusal = { status: 403, reason: 'model_not_entitled' };
    expect(await ada.refused('POST', path(), GERMAN)).toMatchObject(refusal);
    // An unknown value entitles no tenant, and neither does a lapsed one.
    for (const value of [true, 'yes', { plan: null }, { plan: null, quota: -1 }]) {
      await entitle(value);
      expect(await ada.refused('POST', path(), GERMAN)).toMatchObject(refusal);
    }
    await entitle({ plan: null, quota: null }, fixture.clock.nowMs);
    expect(await ada.refused('POST', path(), GERMAN)).toMatchObject(refusal);
    expect(server.asked).toEqual([]);
    await entitle({ plan: null, quota: null }, fixture.clock.nowMs + 1);
    expect(textOf(await ask())).toBe('All is well.');
  });

  test('D-19 a budget that is used up refuses until the month is over', async () => {
    await open({ FREEHOLD_MODEL: SPEC, ...reach(), FREEHOLD_MODEL_TOKENS_MONTHLY: '200' });
    await ask();
    await ask();
    const problem = await ada.refused('POST', path(), GERMAN);
    expect(problem).toMatchObject({
      status: 429,
      reason: 'model_budget',
      detail:
        'What language models may take this month is used up. They can be asked again from 1 April 2026 on.',
    });
    expect(server.asked).toHaveLength(2);
    await entitle({ quota: 1_000, plan: 'large' });
    await ask();
    await entitle({ plan: null, quota: 0 });
    fixture.clock.nowMs = Date.parse('2026-04-01T00:00:00.000Z');
    ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
    expect(await ada.refused('POST', path(), GERMAN)).toMatchObject({ reason: 'model_budget' });
    await entitle({ plan: null, quota: 1 });
    await ask();
  });

  test('what is under way counts, and what a provider does not count counts with all that it could take', async () => {
    await open({ FREEHOLD_MODEL: SPEC, ...reach(), FREEHOLD_MODEL_TOKENS_MONTHLY: '1000' });
    const gate = Promise.withResolvers<void>();
    server.answer(streams(['Half ', 'a'], { pause: () => gate.promise }));
    const first = ask();
    await expect.poll(() => server.asked.length).toBe(1);
    expect(await ada.refused('POST', path(), GERMAN)).toMatchObject({ reason: 'model_budget' });
    gate.resolve();
    await first;
    server.answer(streams(['Well.'], { usage: null }));
    await ask();
    expect(await ada.refused('POST', path(), GERMAN)).toMatchObject({ reason: 'model_budget' });
    expect(server.asked).toHaveLength(2);
  });

  test('a refusal of the provider gives back what was kept for the call', async () => {
    await open({ FREEHOLD_MODEL: SPEC, ...reach(), FREEHOLD_MODEL_TOKENS_MONTHLY: '1' });
    server.answer(refuses(500));
    for (const accept of ['text/event-stream', 'application/json'])
      expect(await ada.refused('POST', path(), GERMAN, { accept })).toMatchObject({
        reason: 'model_unavailable',
      });
    server.answer(streams(['Well.']));
    await ask();
  });

  test('no provider is asked any more when the platform does not collect usage', async () => {
    await open();
    const books = fixture.fieldwork.host.operations(fixture.pipes.scope, 'service:assistant');
    await ask();
    const [{ line } = { line: null }] = await waiting();
    const input = { access: 'all', tokensMonthly: null, tokens: 1 };
    const one = async () => {
      const { output } = await books.invoke({ operation: 'model/admit', input });
      await books.invoke({ operation: 'model/account', input: { ...(output as object), line } });
    };
    for (let left = 899; left > 0; left -= 100)
      await Promise.all(Array.from({ length: Math.min(left, 100) }, one));
    expect(await ada.refused('POST', path(), GERMAN)).toMatchObject({ reason: 'model_accounting_full' });
    expect(server.asked).toHaveLength(1);
  });
});

describe('who may', () => {
  test('a technician may not, a stranger is asked to sign in, and an order of others is unknown', async () => {
    await open();
    const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    await ada.post(`/api/orders/${order}/assign`, { assignee: principal });
    expect((await jo.request('GET', `/api/orders/${order}`)).status).toBe(200);
    for (const method of ['GET', 'POST'])
      expect(await jo.refused(method, path(), method === 'POST' ? GERMAN : undefined)).toMatchObject({
        code: 'permission_denied',
      });
    const anonymous = fixture.visitor(fixture.pipes);
    expect(await anonymous.refused('POST', path(), GERMAN)).toMatchObject({ status: 401 });
    const bo = await fixture.signedIn(fixture.sparks, 'bo');
    await bo.get('/api/me');
    expect(await bo.refused('POST', path(), GERMAN)).toMatchObject({ status: 404 });
    expect(server.asked).toEqual([]);
  });

  test('no person keeps the books, not even the owner', async () => {
    await open();
    const line = { call: `mdl_${'0'.repeat(26)}`, line: null };
    expect(await ada.refused('POST', '/api/op/model/account', line)).toMatchObject({
      code: 'permission_denied',
    });
  });

  test('another site cannot have one written, and what is asked for has a form', async () => {
    await open();
    const elsewhere = await ada.request('POST', path(), GERMAN, { origin: 'https://evil.example' });
    expect(elsewhere.status).toBe(403);
    for (const body of [
      {},
      { language: 'xx' },
      { ...GERMAN, timeZone: 'Moon/Crater' },
      { ...GERMAN, system: 'x' },
    ])
      expect(await ada.refused('POST', path(), body)).toMatchObject({ code: 'validation_failed' });
    expect(server.asked).toEqual([]);
  });

  test('of an erased customer nothing is told to anybody', async () => {
    await open();
    await ada.post(`/api/orders/${order}/cancel`);
    const { customer } = await ada.get<{ customer: { id: string } }>(`/api/orders/${order}`);
    await ada.post(`/api/customers/${customer.id}/erase`);
    expect(await ada.refused('POST', path(), GERMAN)).toMatchObject({ reason: 'customer_erased' });
    expect(server.asked).toEqual([]);
  });
});

test('a line is counted once, however often it is told', async () => {
  await open();
  const books = fixture.fieldwork.host.operations(fixture.pipes.scope, 'service:assistant');
  await ask();
  const [{ line } = { line: null }] = await waiting();
  const input = { access: 'all', tokensMonthly: null, tokens: 1 };
  const { output } = await books.invoke({ operation: 'model/admit', input });
  const told = { operation: 'model/account', input: { ...(output as object), line } };
  expect((await books.invoke(told)).output).toEqual({ counted: true });
  expect((await books.invoke(told)).output).toEqual({ counted: false });
  expect(await waiting()).toHaveLength(2);
});
