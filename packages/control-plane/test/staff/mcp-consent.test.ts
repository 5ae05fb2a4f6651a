/** A destructive call by a program: the person is asked with its plan, by the client that can, and their answer counts once. */
import { MCP_META } from '@freehold/operations/mcp';
import { Client, type ElicitResult, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { letProgramIn } from '../../../directory/test/staff.ts';
import { modernCall } from '../../../vertical-host/test/mcp/messages.ts';
import { type Fixture, ORIGIN, openFixture, signedIn } from './fixture.ts';

const MINUTE_MS = 60_000;
const accept: ElicitResult = { action: 'accept', content: { ok: true } };

interface Asking {
  readonly mode?: 'auto' | 'legacy';
  /** Default: that of a service. */
  readonly token?: string;
  /** Null: the client does not say that it can ask. */
  readonly answer: ((message: string) => ElicitResult | Promise<ElicitResult>) | null;
}

async function open() {
  const fixture = await openFixture({ hostnames: [new URL(ORIGIN).hostname] });
  const { id } = await fixture.tenant('acme');
  const suspend = { tenant: id, status: 'suspended' };
  return {
    fixture,
    suspend,
    tenant: async () => (await fixture.hostAdmin.perform(read('tenants.get', { tenant: id }))).value,
    rows: async () => (await fixture.adminLog()).filter(({ action }) => action === 'tenants.set-status'),
  };
}

const read = (operation: string, params: Readonly<Record<string, unknown>>) => ({
  operation,
  params,
  query: {},
  body: {},
  actor: { kind: 'service', id: 'tok_test', name: 'test' } as const,
  requestId: 'req_read',
});

async function connect(
  fixture: Fixture,
  { mode = 'auto', token = fixture.secret, answer }: Asking,
): Promise<Client> {
  const capabilities = answer ? { elicitation: { form: {} } } : {};
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode }, capabilities },
  );
  if (answer) client.setRequestHandler('elicitation/create', ({ params }) => answer(params.message));
  const fetch = (url: string | URL, init?: RequestInit) => fixture.send(new Request(url, init));
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${ORIGIN}/mcp`), { requestInit, fetch }));
  return client;
}

const setStatus = (client: Client, args: object) =>
  client.callTool({ name: 'tenants_set-status', arguments: { ...args } });

describe.each(['auto', 'legacy'] as const)('a client that can ask, of %s', (mode) => {
  test('shows the plan, and what the person agrees to is done once', async () => {
    const { fixture, suspend, tenant, rows } = await open();
    const asked: string[] = [];
    const client = await connect(fixture, {
      mode,
      answer: async (message) => {
        asked.push(message);
        expect(await tenant()).toMatchObject({ status: 'active' });
        return accept;
      },
    });
    const done = await setStatus(client, suspend);
    expect(done.structuredContent).toMatchObject({ status: 'suspended' });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatch(/\(tenants\.set-status\)\?\n\n/);
    for (const line of ['slug: acme', 'from: active', 'to: suspended', 'effect: stops'])
      expect(asked[0]?.split('\n')).toContain(line);
    expect(asked[0]).not.toContain('dryRun');
    expect(await rows()).toHaveLength(1);
    await client.close();
  });

  test.each([
    ['declines', { action: 'decline' }, 'consent_declined', 'The person declined: nothing was done.'],
    [
      'says no',
      { action: 'accept', content: { ok: false } },
      'consent_declined',
      'The person declined: nothing was done.',
    ],
    [
      'closes the question',
      { action: 'cancel' },
      'consent_cancelled',
      'The person gave no answer: nothing was done.',
    ],
  ] as const)('does nothing where the person %s, and says so', async (_title, answer, reason, detail) => {
    const { fixture, suspend, tenant, rows } = await open();
    const client = await connect(fixture, { mode, answer: () => ({ ...answer }) as ElicitResult });
    const refused = await setStatus(client, suspend);
    expect(refused.isError).toBe(true);
    expect(refused._meta?.[MCP_META.problem]).toMatchObject({ code: 'forbidden', reason, detail });
    expect([await tenant(), await rows()]).toMatchObject([{ status: 'active' }, []]);
    expect(fixture.incidents).toEqual([]);
    await client.close();
  });

  test('asks again when the plan has changed meanwhile', async () => {
    const { fixture, suspend } = await open();
    const asked: string[] = [];
    const client = await connect(fixture, {
      mode,
      answer: async (message) => {
        asked.push(message);
        if (asked.length === 1) await setStatus(await connect(fixture, { answer: null }), suspend);
        return accept;
      },
    });
    const done = await setStatus(client, { ...suspend, status: 'deleting' });
    expect(done.structuredContent).toMatchObject({ status: 'deleting' });
    expect(asked.map((each) => /from: (\w+)/.exec(each)?.[1])).toEqual(['active', 'suspended']);
    await client.close();
  });

  test('asks before long work too, and reads what stays beside what goes', async () => {
    const { fixture, suspend } = await open();
    await setStatus(await connect(fixture, { answer: null }), { ...suspend, status: 'deleting' });
    const asked: string[] = [];
    const client = await connect(fixture, {
      mode,
      answer: (message) => {
        asked.push(message);
        return accept;
      },
    });
    const { tenant } = suspend;
    const begun = await client.callTool({ name: 'tenants_reap', arguments: { tenant, backup: false } });
    expect(begun.structuredContent).toMatchObject({
      id: expect.stringMatching(/^opn_/),
      name: 'tenants.reap',
    });
    expect(asked).toEqual([expect.stringMatching(/\nbackup: no\n[\s\S]*\nslug: acme\n/)]);
    await client.close();
  });

  test('asks nothing for a plan that is asked for, and nothing before what destroys nothing', async () => {
    const { fixture, suspend, rows } = await open();
    const client = await connect(fixture, { mode, answer: () => Promise.reject(new Error('it was asked')) });
    const planned = await setStatus(client, { ...suspend, dryRun: true });
    expect(planned.structuredContent).toMatchObject({ dryRun: true, to: 'suspended' });
    const made = await client.callTool({ name: 'tenants_create', arguments: { slug: 'b', name: 'B' } });
    expect(made.structuredContent).toMatchObject({ slug: 'b' });
    expect(await rows()).toEqual([]);
    await client.close();
  });

  test('is refused before there is a question where the call would be', async () => {
    const { fixture, suspend } = await open();
    const client = await connect(fixture, { mode, answer: () => Promise.reject(new Error('it was asked')) });
    const refused = await setStatus(client, {
      ...suspend,
      tenant: suspend.tenant.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
    });
    expect(refused._meta?.[MCP_META.problem]).toMatchObject({ code: 'not_found' });
    await client.close();
  });
});

test.each([
  ['auto', null],
  ['legacy', null],
] as const)(
  'a client of %s that cannot be asked gets the plan with dryRun, and calls as before',
  async (mode, answer) => {
    const { fixture, suspend } = await open();
    const client = await connect(fixture, { mode, answer });
    const planned = await setStatus(client, { ...suspend, dryRun: true });
    expect(planned.structuredContent).toMatchObject({ dryRun: true, from: 'active' });
    expect((await setStatus(client, suspend)).structuredContent).toMatchObject({ status: 'suspended' });
    await client.close();
  },
);

describe('while its person reads, a program of 2025-11-25', () => {
  const openProgram = async () => {
    const opened = await open();
    const ada = await signedIn(opened.fixture, 'ada', 'operator');
    const program = await letProgramIn({ admin: opened.fixture.hostAdmin }, ada.id);
    return { ...opened, ada, program };
  };
  type Opened = Awaited<ReturnType<typeof openProgram>>;

  test.each([
    [
      'is ended',
      ({ fixture, program }: Opened) =>
        fixture.hostAdmin.perform(read('staff-programs.end', { program: program.id })),
    ],
    [
      'loses its person, who is removed',
      ({ fixture, ada }: Opened) => fixture.hostAdmin.perform(read('staff.remove', { member: ada.id })),
    ],
    [
      'is ended with all sessions of its person',
      ({ fixture, ada }: Opened) =>
        fixture.hostAdmin.staff.programs.signOutEverywhere({ member: ada.id, requestId: 'req_out' }),
    ],
  ])('%s: nothing is done', async (_title, happens) => {
    const opened = await openProgram();
    const { fixture, suspend, program, tenant, rows } = opened;
    const client = await connect(fixture, {
      mode: 'legacy',
      token: program.access,
      answer: async () => {
        await happens(opened);
        return accept;
      },
    });
    const refused = await setStatus(client, suspend);
    expect(refused.isError).toBe(true);
    expect([await tenant(), await rows()]).toMatchObject([{ status: 'active' }, []]);
    expect(fixture.incidents).toEqual([]);
    await client.close();
  });
});

const answered = z.object({
  error: z.object({ code: z.int(), message: z.string() }).optional(),
  result: z
    .looseObject({
      resultType: z.string(),
      requestState: z.string().optional(),
      isError: z.boolean().optional(),
      structuredContent: z.looseObject({}).optional(),
      inputRequests: z
        .record(z.string(), z.object({ method: z.string(), params: z.looseObject({}) }))
        .optional(),
      _meta: z.looseObject({}).optional(),
    })
    .optional(),
});

/** Calls as a client that can do what it says, with what it likes beside the call. */
async function sent(
  fixture: Fixture,
  args: object,
  {
    token = fixture.secret,
    elicitation = { form: {} } as object,
    ...more
  }: {
    readonly token?: string;
    readonly elicitation?: object;
    readonly requestState?: string;
    readonly inputResponses?: object;
  } = {},
) {
  const meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation } };
  const call = modernCall('tools/call', { name: 'tenants_set-status', arguments: args, ...more }, meta);
  const headers = { ...call.headers, authorization: `Bearer ${token}` };
  const response = await fixture.send(new Request(`${ORIGIN}/mcp`, { ...call, headers }));
  return answered.parse(await response.json());
}

const agreed = { inputResponses: { consent: { action: 'accept', content: { ok: true } } } };

describe('an answer', () => {
  const asked = async () => {
    const opened = await open();
    const { result } = await sent(opened.fixture, opened.suspend);
    expect(result?.resultType).toBe('input_required');
    return { ...opened, requestState: z.string().parse(result?.requestState) };
  };

  test('comes to a form with one box, which is not ticked', async () => {
    const { fixture, suspend } = await open();
    const { result } = await sent(fixture, suspend);
    expect(result?.inputRequests?.consent).toMatchObject({
      method: 'elicitation/create',
      params: {
        mode: 'form',
        requestedSchema: {
          type: 'object',
          properties: { ok: { type: 'boolean', title: 'Do it' } },
          required: ['ok'],
        },
      },
    });
    expect(JSON.stringify(result?.inputRequests)).not.toContain('default');
  });

  test('that is repeated is done once', async () => {
    const { fixture, suspend, requestState, rows } = await asked();
    const first = await sent(fixture, suspend, { ...agreed, requestState });
    expect(first.result?.structuredContent).toMatchObject({ status: 'suspended' });
    const second = await sent(fixture, suspend, { ...agreed, requestState });
    expect(second.result?._meta?.[MCP_META.problem]).toMatchObject({ code: 'invalid_transition' });
    expect(await rows()).toHaveLength(1);
  });

  test('twice at once is done once', async () => {
    const { fixture, suspend, requestState, rows } = await asked();
    const twice = [1, 2].map(() => sent(fixture, suspend, { ...agreed, requestState }));
    for (const { result } of await Promise.all(twice))
      expect(result?.structuredContent).toMatchObject({ status: 'suspended' });
    expect(await rows()).toHaveLength(1);
  });

  test.each([
    ['made up', (state: string) => `${state}-TAMPERED`],
    ['cut off', (state: string) => state.slice(0, -4)],
    ['of nothing', () => 'x'],
    [
      'sealed by another key',
      (state: string) => {
        const bytes = Buffer.from(state, 'base64url');
        return Buffer.concat([Buffer.alloc(32), bytes.subarray(32)]).toString('base64url');
      },
    ],
  ])('whose state is %s does nothing', async (_title, change) => {
    const { fixture, suspend, requestState, rows } = await asked();
    for (const inputResponses of [agreed.inputResponses, { consent: { action: 'decline' } }]) {
      const { error } = await sent(fixture, suspend, { inputResponses, requestState: change(requestState) });
      expect(error).toEqual({ code: -32602, message: 'The answer is to no question of this server.' });
    }
    expect(await rows()).toEqual([]);
  });

  test('without a state is none: the person is asked', async () => {
    const { fixture, suspend, rows } = await asked();
    expect((await sent(fixture, suspend, agreed)).result?.resultType).toBe('input_required');
    expect(await rows()).toEqual([]);
  });

  test.each([
    ['nothing', {}],
    ['another question', { other: { action: 'accept', content: { ok: true } } }],
    ['a form that was not filled in', { consent: { action: 'accept', content: {} } }],
    ['a form with something else', { consent: { action: 'accept', content: { ok: 'yes' } } }],
  ])('to %s is none: the person is asked again', async (_title, inputResponses) => {
    const { fixture, suspend, requestState, rows } = await asked();
    const { result } = await sent(fixture, suspend, { inputResponses, requestState });
    expect(result?.resultType).toBe('input_required');
    expect(await rows()).toEqual([]);
  });

  test('by another caller does nothing', async () => {
    const { fixture, suspend, requestState, rows } = await asked();
    const { secret: token } = await fixture.hostAdmin.mintServiceToken({ name: 'other' });
    const { error } = await sent(fixture, suspend, { ...agreed, requestState, token });
    expect(error).toMatchObject({ code: -32602 });
    expect(await rows()).toEqual([]);
  });

  test('by another program of the same member does nothing', async () => {
    const { fixture, suspend, rows } = await open();
    const ada = await signedIn(fixture, 'ada', 'operator');
    const letIn = () => letProgramIn({ admin: fixture.hostAdmin }, ada.id);
    const [one, other] = [await letIn(), await letIn()];
    const { result } = await sent(fixture, suspend, { token: one.access });
    const answer = { ...agreed, requestState: result?.requestState ?? '' };
    const { error } = await sent(fixture, suspend, { ...answer, token: other.access });
    expect(error).toMatchObject({ code: -32602 });
    expect(await rows()).toEqual([]);
    const done = await sent(fixture, suspend, { ...answer, token: one.access });
    expect(done.result?.structuredContent).toMatchObject({ status: 'suspended' });
  });

  test('for another call does nothing: the person is asked about that', async () => {
    const { fixture, suspend, requestState, rows } = await asked();
    const other = { ...suspend, status: 'deleting' };
    const { result } = await sent(fixture, other, { ...agreed, requestState });
    expect(result?.inputRequests?.consent?.params.message).toContain('to: deleting');
    expect(await rows()).toEqual([]);
  });

  test.each([
    [10 * MINUTE_MS - 1, 'complete'],
    [10 * MINUTE_MS, 'input_required'],
    [-1, 'input_required'],
  ])('after %i ms is %s', async (ms, resultType) => {
    const { fixture, suspend, requestState, rows } = await asked();
    fixture.clock.ms += ms;
    const { result } = await sent(fixture, suspend, { ...agreed, requestState });
    expect(result?.resultType).toBe(resultType);
    expect(await rows()).toHaveLength(resultType === 'complete' ? 1 : 0);
  });

  test('counts again another time, for the same plan', async () => {
    const { fixture, suspend, requestState, rows } = await asked();
    await sent(fixture, suspend, { ...agreed, requestState });
    const back = { ...suspend, status: 'active' };
    const { result: back1 } = await sent(fixture, back);
    await sent(fixture, back, { ...agreed, requestState: back1?.requestState ?? '' });
    fixture.clock.ms += MINUTE_MS;
    const again = await sent(fixture, suspend);
    const done = await sent(fixture, suspend, { ...agreed, requestState: again.result?.requestState ?? '' });
    expect(done.result?._meta ?? {}).not.toHaveProperty([MCP_META.replayed]);
    expect(await rows()).toHaveLength(3);
  });

  test.each([
    [{}, 'input_required'],
    [{ form: {}, url: {} }, 'input_required'],
    [{ url: {} }, 'complete'],
  ])('is asked of a client that says %j: %s', async (elicitation, resultType) => {
    const { fixture, suspend } = await open();
    expect((await sent(fixture, suspend, { elicitation })).result?.resultType).toBe(resultType);
  });
});
