/** Permission, order and record of calls, and their settings (spec 2.8, 4.8, 7.8: D-18 to D-21). */
import { tracingChannel } from 'node:diagnostics_channel';
import { PlatformError } from '@freehold/contracts';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createModelHost, MODEL_FACTORIES, type ModelFactory, RATE_CARD } from '../../src/model/index.ts';
import {
  ATTRIBUTION,
  failureOf,
  hostFor,
  json,
  PROMPT,
  provider,
  refusalOf,
  sse,
  textOf,
} from './support.ts';
import { KEY, WIRES, type Wire } from './wires.ts';

const wire = WIRES[0] as Wire;
const COUNTS = { input: 100, output: 7 };
const answering = () => provider(() => json(wire.whole('Hello', COUNTS)));

afterEach(() => void vi.unstubAllEnvs());

describe('the order', () => {
  test.each(['run', 'stream'] as const)(
    '%s: guard, then the model, then the line, then record (D-18)',
    async (way) => {
      const log: string[] = [];
      await using server = await provider(({ body }) => {
        log.push('model');
        return body.stream ? sse(wire.pieces(['Hello'], COUNTS)) : json(wire.whole('Hello', COUNTS));
      });
      const host = createModelHost({
        env: wire.env(server.origin),
        guard: async (call) => {
          await Promise.resolve();
          log.push(`guard ${call.spec} for ${call.attribution.tenant}, ${Object.keys(call).join()}`);
        },
        record: async (line) => {
          await Promise.resolve();
          log.push(`record ${line.outputTokens}`);
        },
      });
      const answer = await host[way](request());
      if ('end' in answer) await textOf(answer.text);
      log.push('answer');
      expect(log).toEqual([
        `guard ${wire.spec} for tnt_pipes, spec,attribution`,
        'model',
        'record 7',
        'answer',
      ]);
    },
  );

  test('what cannot be resolved is refused before guard is asked (D-18)', async () => {
    const { host, ask, log } = hostFor({ ...wire, env: () => ({}) }, '');
    expect(await refusalOf(host.run(ask()))).toMatchObject({ reason: 'model_not_configured' });
    expect(log).toEqual([]);
  });

  test.each(['run', 'stream'] as const)(
    '%s: what guard throws refuses the call, unchanged, and nothing is asked (D-19)',
    async (way) => {
      await using server = await answering();
      const refusal = new PlatformError('rate_limited', 'The budget of this month is used up.', {
        reason: 'model_budget',
      });
      for (const guard of [
        () => {
          throw refusal;
        },
        () => Promise.reject(refusal),
      ]) {
        const { host, ask, log } = hostFor(wire, server.origin, { guard });
        expect(await failureOf(host[way](ask()))).toBe(refusal);
        expect(log).toEqual([]);
      }
      expect(server.seen).toEqual([]);
    },
  );

  test('what record throws fails the run, unchanged (D-19)', async () => {
    await using server = await answering();
    const lost = new Error('the ledger is closed');
    for (const record of [
      () => {
        throw lost;
      },
      () => Promise.reject(lost),
    ]) {
      const { host, ask } = hostFor(wire, server.origin, { record });
      expect(await failureOf(host.run(ask()))).toBe(lost);
    }
  });

  test('when the call and record both fail, both are told (D-19)', async () => {
    await using server = await provider(() => json('{"half'));
    const lost = new Error('the ledger is closed');
    const { host, ask } = hostFor(wire, server.origin, { record: () => Promise.reject(lost) });
    const failure = await failureOf(host.run(ask()));
    if (!(failure instanceof AggregateError)) throw new Error('not both');
    expect(failure.errors).toMatchObject([{ reason: 'model_answer' }, lost]);
  });
});

describe('the attribution', () => {
  const cases: [string, unknown][] = [
    ['a sixth key', { ...ATTRIBUTION, user: 'prn_1' }],
    ['a missing key', { ...ATTRIBUTION, operation: undefined }],
    ['an empty value', { ...ATTRIBUTION, tenant: '' }],
    ['a value that is no text', { ...ATTRIBUTION, version: 7 }],
    ['a long value', { ...ATTRIBUTION, scope: 'x'.repeat(129) }],
    ['none', undefined],
  ];
  test.each(cases)('%s is refused, and no provider is asked (D-19, D-20)', async (_, attribution) => {
    await using server = await answering();
    const { host, ask, log } = hostFor(wire, server.origin);
    const error = await refusalOf(host.run(ask({ attribution: attribution as never })));
    expect(error.code).toBe('validation_failed');
    expect([log, server.seen]).toEqual([[], []]);
  });

  test('guard cannot change for whom the line is (D-20)', async () => {
    await using server = await answering();
    const { host, ask, lines } = hostFor(wire, server.origin, {
      guard: (call) => {
        Reflect.set(call.attribution, 'tenant', 'tnt_other');
        Reflect.set(call, 'attribution', {});
      },
    });
    await host.run(ask());
    expect(lines[0]?.attribution).toEqual(ATTRIBUTION);
    expect(Object.isFrozen(lines[0])).toBe(true);
  });
});

describe('credentials', () => {
  test.each(WIRES)('$row: of the environment only its own variables are read (D-21)', async (each) => {
    await using server = await provider(() => json(each.whole('Hello', COUNTS)));
    const read = new Set<PropertyKey>();
    const all = Object.assign({}, ...WIRES.map((other) => other.env(server.origin)), {
      TENANT_OPENAI_TOKEN: 'of an installation',
    });
    const env = new Proxy(all, {
      get: (target, name) => {
        read.add(name);
        return Reflect.get(target, name);
      },
    });
    const { host, ask } = hostFor({ ...each, env: () => env }, server.origin);
    await host.run(ask());
    const own = MODEL_FACTORIES[each.row]?.variables.map(({ name }) => name);
    expect([...read].sort()).toEqual([...(own ?? [])].sort());
  });

  test('a factory gets no variable that it did not declare (D-21)', async () => {
    const env = { MINE: 'a', FREEHOLD_MODEL_OPENAI_API_KEY: KEY };
    const nosy: ModelFactory = {
      variables: [{ name: 'MINE', kind: 'key', required: true }],
      load: async ({ variable }) => {
        variable('FREEHOLD_MODEL_OPENAI_API_KEY');
        throw new Error('it was given the key of another row');
      },
    };
    const { host, ask } = hostFor({ spec: 'nosy:x', env: () => env }, '', { factories: { nosy } });
    expect(await failureOf(host.run(ask()))).toMatchObject({
      message: expect.stringContaining('does not declare'),
    });
  });

  test('what the libraries would find in the process is not used (D-21)', async () => {
    const elsewhere: string[] = [];
    await using trap = await provider(({ path }) => {
      elsewhere.push(path);
      return json({});
    });
    for (const name of ['OPENAI_BASE_URL', 'ANTHROPIC_BASE_URL']) vi.stubEnv(name, `${trap.origin}/v1`);
    for (const name of ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'])
      vi.stubEnv(name, 'key-of-another');
    for (const each of WIRES) {
      const asked: { url: string; headers: Headers }[] = [];
      const env = { ...each.env('http://unused.example') };
      // Without an address of its own a row asks the provider's, whatever the process says.
      if (each.row !== 'openai-compatible')
        for (const name of Object.keys(env)) if (name.endsWith('BASE_URL')) delete env[name];
      const { host, ask } = hostFor({ ...each, env: () => env }, '', {
        fetch: async (input, init) => {
          asked.push({ url: String(input), headers: new Headers(init?.headers) });
          return json(each.whole('Hello', COUNTS));
        },
      });
      await host.run(ask());
      expect(asked).toHaveLength(1);
      expect(asked[0]?.url).toMatch(
        /^(?:https:\/\/(?:api\.openai\.com|api\.anthropic\.com|generativelanguage\.googleapis\.com)\/v1|http:\/\/unused\.example\/v1)/,
      );
      expect(asked[0]?.headers.get(each.credential)).toContain(KEY);
      expect(JSON.stringify([...(asked[0]?.headers ?? [])])).not.toContain('key-of-another');

      // And without a key it has none.
      const bare = hostFor({ ...each, env: () => ({}) }, '');
      expect(await refusalOf(bare.host.run(bare.ask()))).toMatchObject({ reason: 'model_not_configured' });
    }
    expect(elsewhere).toEqual([]);
  });

  test('OpenAI is told not to keep what it is asked', async () => {
    await using server = await answering();
    const { host, ask } = hostFor(wire, server.origin);
    await host.run(ask());
    expect(server.seen[0]?.body.store).toBe(false);
  });
});

describe('status', () => {
  const unasked = {
    guard: () => {
      throw new Error('guard was asked');
    },
    record: () => undefined,
  };
  const statusOf = (spec: string, env: Record<string, unknown>, aiBinding?: unknown) =>
    createModelHost({ ...unasked, env, aiBinding }).status(spec);

  test('a row that has what it needs is configured (D-18)', () => {
    expect(statusOf('openai:gpt-5-mini', { FREEHOLD_MODEL_OPENAI_API_KEY: KEY })).toEqual({
      spec: 'openai:gpt-5-mini',
      configured: true,
      lacks: [],
      detail: null,
      priced: true,
    });
    expect(statusOf('workers-ai:@cf/openai/gpt-oss-20b', {}, {}).configured).toBe(true);
    const local = statusOf('openai-compatible:llama3:8b', {
      FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:11434/v1',
    });
    expect(local).toMatchObject({ configured: true, priced: false });
  });

  test.each([
    ['openai:x', {}, ['FREEHOLD_MODEL_OPENAI_API_KEY']],
    ['anthropic:x', { FREEHOLD_MODEL_ANTHROPIC_API_KEY: '' }, ['FREEHOLD_MODEL_ANTHROPIC_API_KEY']],
    ['google:x', { FREEHOLD_MODEL_GOOGLE_API_KEY: 7 }, ['FREEHOLD_MODEL_GOOGLE_API_KEY']],
    ['openai:x', { FREEHOLD_MODEL_OPENAI_API_KEY: `${KEY}\n` }, ['FREEHOLD_MODEL_OPENAI_API_KEY']],
    ['openai-compatible:x', {}, ['FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL']],
    ...['ftp://x', 'x', 'http://user:pass@x/v1', 'http://x/v1?key=1', 'http://x/#'].map(
      (url) =>
        [
          'openai-compatible:x',
          { FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL: url },
          ['FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL'],
        ] as const,
    ),
    [
      'google:x',
      { FREEHOLD_MODEL_GOOGLE_API_KEY: KEY, FREEHOLD_MODEL_GOOGLE_BASE_URL: 'nonsense' },
      ['FREEHOLD_MODEL_GOOGLE_BASE_URL'],
    ],
    ['workers-ai:@cf/x/y', {}, ['aiBinding']],
  ] as const)('%s with %o lacks %o, and says no value (D-18)', async (spec, env, lacks) => {
    const status = statusOf(spec, env);
    expect(status).toMatchObject({ configured: false, lacks });
    for (const value of Object.values(env)) {
      if (value !== '' && value !== 'x' && value !== 7) expect(status.detail).not.toContain(String(value));
    }
    const { host, ask } = hostFor({ spec, env: () => env as never }, '');
    expect(await refusalOf(host.run(ask()))).toMatchObject({
      code: 'unavailable',
      reason: 'model_not_configured',
      message: expect.stringContaining(lacks[0]),
    });
  });

  test.each([
    ['gpt-5-mini', 'validation_failed', 'model_spec'],
    ['acme:x', 'unsupported', 'model_provider'],
    ['constructor:x', 'unsupported', 'model_provider'],
    ['workers-ai:openai/gpt-5', 'unsupported', 'model_unknown'],
    ['workers-ai:dynamic/route', 'unsupported', 'model_unknown'],
    ['google:../v1beta/files', 'validation_failed', 'model_spec'],
  ])('%s is nothing that could be configured: %s, %s', async (spec, code, reason) => {
    expect(statusOf(spec, {}, {})).toMatchObject({ configured: false, lacks: [], priced: false });
    const { host, ask, log } = hostFor({ spec, env: () => ({}) }, '', { aiBinding: {} });
    expect(await refusalOf(host.run(ask()))).toMatchObject({ code, reason });
    expect(log).toEqual([]);
  });
});

describe('the line', () => {
  test('carries the list price alone, to the last digit (D-20, D-21)', async () => {
    await using server = await provider(() =>
      json(wire.whole('Hello', { input: 1_000, cached: 300, output: 77 })),
    );
    const { host, ask, lines } = hostFor(wire, server.origin);
    await host.run(ask());
    // gpt-5-mini: 700 × $0.25, 300 × $0.025 and 77 × $2 for a million.
    expect(lines[0]?.listUsd).toBe(0.0003365);
    expect(Object.keys(lines[0] ?? {}).sort()).toEqual([
      'attribution',
      'cacheWriteTokens',
      'cachedInputTokens',
      'inputTokens',
      'listUsd',
      'outcome',
      'outputTokens',
      'pricesAsOf',
      'reasoningTokens',
      'reported',
      'spec',
    ]);
  });

  test.each(['openai:gpt-unheard-of', 'openai:toString'])(
    '%s is unpriced, and not free (D-20)',
    async (spec) => {
      await using server = await answering();
      const { host, ask, lines } = hostFor(wire, server.origin);
      await host.run(ask({ spec }));
      expect(lines).toMatchObject([
        { spec, listUsd: null, pricesAsOf: null, inputTokens: 100, reported: true },
      ]);
    },
  );

  test('the platform may bring a card of its own, and a mistake in it is found at once', async () => {
    await using server = await answering();
    const card = {
      openai: {
        asOf: '2026-11-01',
        source: 'a contract',
        models: { 'gpt-5-mini': { input: '1', output: '2' } },
      },
    };
    const { host, ask, lines } = hostFor(wire, server.origin, { rateCard: card });
    await host.run(ask());
    expect(lines).toMatchObject([{ listUsd: 0.000114, pricesAsOf: '2026-11-01' }]);
    for (const input of ['-1', '1e3', '0.0000001', '', ' 1', 'free'])
      expect(() =>
        hostFor(wire, '', {
          rateCard: { openai: { ...card.openai, models: { x: { input, output: '1' } } } },
        }),
      ).toThrow(TypeError);
  });

  test('is plain JSON', async () => {
    await using server = await answering();
    const { host, ask, lines } = hostFor(wire, server.origin);
    await host.run(ask());
    expect(JSON.parse(JSON.stringify(lines[0]))).toEqual(lines[0]);
  });
});

describe('requests', () => {
  test.each([
    { prompt: '' },
    { maxOutputTokens: 0 },
    { maxOutputTokens: 1.5 },
    { maxOutputTokens: undefined as never },
    { stepsMax: 33 },
    { timeoutMs: 0 },
    { spec: 7 as never },
  ])('%o is refused', async (more) => {
    const { host, ask, log } = hostFor(wire, 'http://unused.example');
    expect((await refusalOf(host.run(ask(more)))).code).toBe('validation_failed');
    expect(log).toEqual([]);
  });

  test.each([{ timeoutMs: 0 }, { timeoutMs: Number.NaN }, { retriesMax: -1 }, { retriesMax: 11 }])(
    'a host with %o is not made',
    (options) => {
      expect(() => hostFor(wire, '', options)).toThrow(RangeError);
    },
  );
});

describe('tools', () => {
  const twice = () =>
    provider((_, count) =>
      json(
        count === 1 ? wire.toolCall({ input: 10, output: 4 }) : wire.whole('Done.', { input: 20, output: 5 }),
      ),
    );
  const tool = (run: () => unknown) => ({ look: { description: 'Looks.', input: z.object({}), run } });

  test('a refusal is told to the model, in its public words', async () => {
    await using server = await twice();
    const { host, ask } = hostFor(wire, server.origin);
    const answer = await host.run(
      ask({
        tools: tool(() => {
          throw new PlatformError('not_found', 'There is no such order.', { cause: new Error('SELECT *') });
        }),
      }),
    );
    expect(answer.text).toBe('Done.');
    const told = JSON.stringify(server.seen[1]?.body);
    expect(told).toContain('There is no such order.');
    expect(told).not.toContain('SELECT');
  });

  test('any other error fails the call and is not told to the provider; the steps before it are on the line', async () => {
    await using server = await twice();
    const { host, ask, lines } = hostFor(wire, server.origin);
    const bug = new TypeError('orders of Mrs Private is undefined');
    const failure = await failureOf(
      host.run(
        ask({
          tools: tool(() => {
            throw bug;
          }),
        }),
      ),
    );
    expect(failure).toBe(bug);
    expect(server.seen).toHaveLength(1);
    expect(lines).toMatchObject([{ outcome: 'failed', inputTokens: 10, outputTokens: 4 }]);
  });
});

describe('nothing is told to anybody else', () => {
  test('no telemetry leaves, and nothing is printed, even when a stream fails', async () => {
    const told: unknown[] = [];
    const channel = tracingChannel('ai:telemetry');
    const listeners = {
      start: (event: unknown) => void told.push(event),
      end: () => undefined,
      asyncStart: () => undefined,
      asyncEnd: () => undefined,
      error: (event: unknown) => void told.push(event),
    };
    channel.subscribe(listeners);
    const printers = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation(() => undefined),
    );
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    try {
      for (const each of WIRES) {
        await using server = await provider(({ body, path }) =>
          body.stream || path.includes('stream')
            ? sse([...each.pieces(['Hel'], COUNTS).slice(0, -1), `data: {"${PROMPT}\n\n`])
            : json(each.whole('Hello', COUNTS)),
        );
        const { host, ask } = hostFor(each, server.origin);
        await host.run(ask());
        const { text } = await host.stream(ask());
        await refusalOf(textOf(text));
      }
      for (const printer of [...printers, warn]) expect(printer).not.toHaveBeenCalled();
      expect(told).toEqual([]);
    } finally {
      channel.unsubscribe(listeners);
      vi.restoreAllMocks();
    }
  });
});

test('the shipped rows are those of the design, and the card prices rows that there are', () => {
  expect(Object.keys(MODEL_FACTORIES)).toEqual([
    'openai',
    'anthropic',
    'google',
    'openai-compatible',
    'workers-ai',
  ]);
  for (const row of Object.keys(RATE_CARD)) expect(MODEL_FACTORIES).toHaveProperty(row);
  for (const { variables } of Object.values(MODEL_FACTORIES))
    for (const { name } of variables) expect(name).toMatch(/^FREEHOLD_MODEL_[A-Z_]+_(?:API_KEY|BASE_URL)$/);
});

function request() {
  return { spec: wire.spec, attribution: ATTRIBUTION, prompt: PROMPT, maxOutputTokens: 10 };
}
