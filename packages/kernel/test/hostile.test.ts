/** Bad input is the caller's and costs nothing; a bad handler is the vertical's and costs only its own call. */

import { PlatformError } from '@freehold/contracts';
import { RollbackThen } from '@freehold/store';
import { anyCharacter } from '@freehold/testkit';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runs } from '../../testkit/src/index.ts';
import type { OperationContext } from '../src/index.ts';
import { about, anonymous, guest, onScenario, openShop, owner } from './shop.ts';

type Shop = Awaited<ReturnType<typeof openShop>>;
const box = { type: 'box', id: 'b' };
const insert = `INSERT INTO boxes (id, label, state) VALUES ('sneaky', 'x', 'x')`;
const run = (shop: Shop, work: (ctx: OperationContext) => unknown) =>
  shop.run(owner, 'test/run', { what: onScenario('hostile', work) });

/** Everything that a call can leave behind. */
async function traces(shop: Shop): Promise<unknown> {
  const what = onScenario('traces', (ctx) =>
    ['boxes', '_spine_events', '_spine_invocations', '_spine_idempotency', '_spine_grants'].map(
      (table) => ctx.sql.all(`SELECT * FROM ${table}`).length,
    ),
  );
  return (await shop.run(owner, 'test/read', { what })).output;
}
const NONE = [0, 0, 0, 0, 0];

describe('an input', () => {
  const nested = (levels: number): unknown => {
    let value: unknown = 'x';
    for (let i = 0; i < levels; i++) value = [value];
    return value;
  };
  const cases: [string, unknown][] = [
    ['nothing', undefined],
    ['null', null],
    ['a text', 'label'],
    ['an array', []],
    ['a __proto__ of its own', JSON.parse('{"label":"x","__proto__":{"admin":true}}')],
    ['constructor', { label: 'x', constructor: {} }],
    ['half a surrogate pair', { label: '\ud83d' }],
    ['half a surrogate pair as a name', { label: 'x', '\ud83d': 1 }],
    ['too many levels', { label: nested(1_000) }],
    ['NaN', { label: Number.NaN }],
    ['bytes', { label: new Uint8Array(4) }],
  ];
  test.each(cases)('of %s is refused and writes nothing, a denial least of all', async (_name, input) => {
    await using shop = await openShop();
    await expect(shop.run(owner, 'box/pack', input, { idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'validation_failed',
    });
    expect(await traces(shop)).toEqual(NONE);
    expect((await shop.scope.listDenials({ limit: 10 })).items).toEqual([]);
    expect(shop.incidents).toEqual([]);
  });

  test('says where it is no JSON', async () => {
    await using shop = await openShop();
    await expect(shop.run(owner, 'box/pack', { label: ['a', '\ud83d'] })).rejects.toMatchObject({
      reason: 'input_not_json',
      errors: [{ path: 'label.1', message: 'must be well-formed Unicode text' }],
    });
  });

  test('of any kind is answered, refused by its schema, or refused by a permission', async () => {
    await using shop = await openShop();
    const text = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.constantFrom('\0', '__proto__', 'b', 'x'.repeat(300)),
    );
    const input = fc.oneof(
      fc.record({ box: text }),
      fc.record({ label: text }),
      fc.record({ id: text }),
      fc.record({ box: text, with: text }),
      fc.jsonValue(),
    );
    const operation = fc.constantFrom(
      'box/pack',
      'box/ship',
      'box/read',
      'box/share',
      'box/unshare',
      'test/about',
      'not/declared',
      '__proto__',
    );
    const extra = fc.record(
      { idempotencyKey: fc.string({ minLength: 1 }), ifMatch: fc.constantFrom('*', 'evt_x', '') },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(owner, guest, anonymous),
        operation,
        input,
        extra,
        async (who, name, sent, options) => {
          const outcome = await shop.run(who, name, sent, options).catch((error: unknown) => error);
          if (outcome instanceof PlatformError) expect(outcome.status).toBeLessThan(500);
          expect(outcome).not.toBeInstanceOf(TypeError);
        },
      ),
      { numRuns: runs(400) },
    );
    expect(shop.incidents).toEqual([]);
  });

  test('for an undeclared operation is no denial', async () => {
    await using shop = await openShop();
    for (const operation of ['box/none', 'constructor', '__proto__', '', 7 as never]) {
      await expect(shop.run(anonymous, operation, {})).rejects.toMatchObject({ reason: 'unknown_operation' });
    }
    expect((await shop.scope.listDenials({ limit: 10 })).items).toEqual([]);
  });

  test('cannot bring a principal or a cause of its own along', async () => {
    await using shop = await openShop();
    const stub = shop.host.operations(shop.scopeId, guest);
    const forged = { operation: 'box/pack', input: { label: 'x' }, principal: owner, cause: 'evt_x' };
    await expect(stub.invoke(forged)).rejects.toMatchObject({ code: 'permission_denied' });
    await expect(
      shop.scope.invoke({
        operation: 'box/pack',
        input: { label: 'x' },
        principal: owner,
        cause: 'evt_x' as never,
      }),
    ).rejects.toMatchObject({ reason: 'unknown_cause' });
  });
});

describe('entity()', () => {
  const answering = (entity: typeof about.entity) => {
    const before = about.entity;
    about.entity = entity;
    onTestFinished(() => {
      about.entity = before;
    });
  };
  test.each([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    [
      'throws null',
      () => {
        throw null;
      },
    ],
    ['answers nothing', () => undefined],
    ['answers null', () => null],
    ['answers a promise', () => Promise.resolve(box)],
    ['answers an undeclared type', () => ({ type: 'ship', id: 'b' })],
    ['answers an inherited type', () => ({ type: 'constructor', id: 'b' })],
    ['answers an empty type', () => ({ type: '', id: '' })],
    ['answers a number for an id', () => ({ type: 'box', id: 7 })],
  ])('that %s is a bug, and no caller gets through', async (_name, entity) => {
    await using shop = await openShop();
    answering(entity);
    await expect(shop.run(owner, 'test/about', { id: 'b' })).rejects.toMatchObject({ code: 'internal' });
    expect(String(shop.incidents[0])).toMatch(/test\/about|Error: no/);
    expect(await traces(shop)).toEqual(NONE);
  });

  test.each(['', 'x'.repeat(129)])(
    'that answers the caller’s own id %j, which cannot be one, is his mistake',
    async (id) => {
      await using shop = await openShop();
      await expect(shop.run(owner, 'test/about', { id })).rejects.toMatchObject({
        code: 'validation_failed',
        reason: 'entity_id_malformed',
      });
      expect((await shop.run(owner, 'test/about', { id: 'x'.repeat(128) })).output).toBeNull();
    },
  );

  test('is asked once, so that what was checked is what is used', async () => {
    await using shop = await openShop();
    let asked = 0;
    answering(() => ({ type: 'box', id: `b${asked++}` }));
    await shop.run(owner, 'test/about', { id: 'b' }, { ifMatch: '*' }).catch(() => undefined);
    expect(asked).toBe(1);
  });
});

describe('what run throws', () => {
  const thrower = (thrown: unknown) => () => {
    throw thrown;
  };
  const objecting = new Proxy(new Error('x'), {
    get: thrower(new Error('get')),
    getPrototypeOf: thrower(new Error('prototype')),
  });
  const getters = Object.defineProperties(new Error('x'), {
    message: { get: thrower(new Error('message')) },
    stack: { get: thrower(new Error('stack')) },
  });
  const lying = Object.defineProperty(new PlatformError('not_found', 'x'), 'code', {
    get: thrower(new Error('code')),
  });
  test.each<[string, unknown]>([
    ['null', null],
    ['undefined', undefined],
    ['a text', 'secret'],
    ['a symbol', Symbol('x')],
    ['a frozen error', Object.freeze(new Error('x'))],
    ['a proxy that objects', objecting],
    ['an error with throwing getters', getters],
    ['a platform error with a throwing code', lying],
    ['a platform error with a code of its own', new PlatformError('made_up' as never, 'x')],
    ['a promise', Promise.resolve()],
    ['the kernel’s own way to roll back', new RollbackThen(new Error('x'), () => undefined)],
  ])('%s: fails that call and no other of the group', async (_name, thrown) => {
    await using shop = await openShop();
    const what = onScenario('throw', (ctx) => {
      ctx.sql.run(insert);
      throw thrown;
    });
    const [before, failed, after] = await Promise.allSettled([
      shop.run(owner, 'box/pack', { label: 'before' }),
      shop.run(owner, 'test/run', { what }),
      shop.run(owner, 'box/pack', { label: 'after' }),
    ]);
    expect([before.status, after.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'internal' } });
    expect(JSON.stringify((failed as PromiseRejectedResult).reason)).not.toContain('secret');
    expect(shop.incidents).toHaveLength(1);
    expect(await traces(shop)).toEqual([2, 2, 2, 0, 0]);
  });

  test('a platform error arrives as it was meant', async () => {
    await using shop = await openShop();
    const error = new PlatformError('invalid_transition', 'Not from here.', { reason: 'is_done' });
    await expect(run(shop, thrower(error))).rejects.toMatchObject({
      code: 'invalid_transition',
      message: 'Not from here.',
      reason: 'is_done',
    });
    expect(shop.incidents).toEqual([]);
  });
});

describe('what run answers', () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  test.each<[string, unknown]>([
    ['a Date', { at: new Date(0) }],
    ['a bigint', { n: 1n }],
    ['NaN', { n: Number.NaN }],
    ['Infinity', [Number.POSITIVE_INFINITY]],
    ['a Map', new Map()],
    ['bytes', new Uint8Array(1)],
    ['a function', { toJSON: () => 'x' }],
    ['a circle', circle],
    ['a hole', [undefined]],
  ])('%s has no JSON form: the call fails and keeps nothing', async (_name, answer) => {
    await using shop = await openShop();
    await expect(
      run(shop, (ctx) => {
        ctx.sql.run(insert);
        return answer;
      }),
    ).rejects.toMatchObject({ code: 'internal' });
    expect(String(shop.incidents[0])).toContain('operation test/run, output');
    expect(await traces(shop)).toEqual(NONE);
  });
});

describe('an event', () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const emit = (shop: Shop, event: object) =>
    run(shop, (ctx) => {
      ctx.emit({ type: 'box.packed', entity: box, ...event } as never);
    });
  test.each<[string, object, RegExp]>([
    ['of an undeclared entity type', { entity: { type: 'bix', id: 'b' } }, /"bix" is not declared/],
    ['about nothing', { entity: undefined }, /a type and an id/],
    ['of a malformed type', { type: 'Packed' }, /"Packed" is not an event type/],
    ['without a type', { type: undefined }, /is not an event type/],
    ['with a circle', { payload: circle }, /payload: .* 64 levels/],
    ['with a Date', { payload: { at: new Date(0) } }, /payload: at must be a JSON value/],
    ['with NaN', { payload: [Number.NaN] }, /payload: 0 must be a finite number/],
    ['with too much', { payload: 'x'.repeat(65_536) }, /at most 65536/],
  ])('%s is refused with words that name the fault', async (_name, event, words) => {
    await using shop = await openShop();
    await expect(emit(shop, event)).rejects.toMatchObject({ code: 'internal' });
    expect(String(shop.incidents[0])).toMatch(words);
    expect(String(shop.incidents[0])).toContain('operation test/run');
    expect(await traces(shop)).toEqual(NONE);
  });
});

describe('a context', () => {
  test('is closed once run has returned, also while another call is running', async () => {
    await using shop = await openShop();
    let leaked: OperationContext | undefined;
    await run(shop, (ctx) => {
      leaked = ctx;
    });
    const ctx = leaked as OperationContext;
    const uses: (() => unknown)[] = [
      () => ctx.sql.run(insert),
      () => ctx.sql.get('SELECT 1'),
      () => ctx.sql.all('SELECT 1'),
      () => ctx.sql.exec(insert),
      () => ctx.sql.savepoint(() => undefined),
      () => ctx.emit({ type: 'box.packed', entity: box }),
      () => ctx.check('box.read'),
      () => ctx.can('box.read'),
      () => ctx.reach('box.read', 'box'),
      () => ctx.grant({ subject: anonymous, permission: 'box.read' }),
      () => ctx.revoke({ subject: anonymous, permission: 'box.read' }),
      () => ctx.invoke('box/pack', { label: 'x' }),
      () => ctx.newId('box'),
    ];
    for (const use of uses) expect(use).toThrow(/test\/run: its context was used after run had returned/);
    await run(shop, () => {
      for (const use of uses) expect(use).toThrow(/closed/);
    });
    expect(await traces(shop)).toEqual([0, 0, 2, 0, 0]);
  });

  test('is closed when run throws, and to what an unfinished promise does later', async () => {
    await using shop = await openShop();
    let later: Promise<unknown> | undefined;
    await expect(
      run(shop, (ctx) => {
        later = Promise.resolve().then(() => ctx.sql.run(insert));
        later.catch(() => undefined);
        return later;
      }),
    ).rejects.toMatchObject({ code: 'internal' });
    await expect(later).rejects.toThrow(/closed/);
    expect(await traces(shop)).toEqual(NONE);
  });

  test('makes ids of its own, and cannot move the platform’s', async () => {
    await using shop = await openShop();
    await run(shop, (ctx) => {
      expect('observe' in ctx.newId).toBe(false);
      for (const prefix of ['', 'A', 'a_b', 'x'.repeat(17)])
        expect(() => ctx.newId(prefix)).toThrow(/prefix/);
      expect(ctx.newId('bx')).toMatch(/^bx_[0-9a-z]{26}$/);
    });
  });
});

describe('an operation that is invoked by another', () => {
  test('leaves nothing behind when it fails and the outer one goes on', async () => {
    await using shop = await openShop();
    const inner = onScenario('inner', (ctx) => {
      ctx.invoke('box/pack', { label: 'inside' });
      ctx.emit({ type: 'box.lost', entity: box });
      ctx.grant({ subject: anonymous, permission: 'box.read' });
      throw new PlatformError('conflict', 'Not today.');
    });
    await run(shop, (ctx) => {
      expect(() => ctx.invoke('test/run', { what: inner })).toThrow('Not today.');
      ctx.emit({ type: 'box.kept', entity: box });
    });
    expect(await traces(shop)).toEqual([0, 1, 1, 0, 0]);
    expect((await shop.scope.history({ entity: box, limit: 10 })).items).toMatchObject([
      { type: 'box.kept' },
    ]);
  });

  test('is not caused by an event that a savepoint took back', async () => {
    await using shop = await openShop();
    const result = await run(shop, (ctx) => {
      const emitted = ctx.emit({ type: 'box.kept', entity: box });
      try {
        ctx.sql.savepoint(() => {
          ctx.emit({ type: 'box.lost', entity: box });
          throw new Error('undo');
        });
      } catch {
        // Goes on without it.
      }
      ctx.invoke('bill/write', { box: 'b' });
      return emitted;
    });
    const effects = await shop.scope.effects({ event: result.output as never });
    expect(effects.items.map((each) => each.type)).toEqual(['bill.written']);
  });

  test('blames the vertical for an input that does not fit, and for an undeclared name', async () => {
    await using shop = await openShop();
    for (const [name, input] of [
      ['box/pack', { label: '' }],
      ['box/pack', { label: new Date(0) }],
      ['box/none', {}],
    ] as const) {
      await expect(run(shop, (ctx) => ctx.invoke(name, input))).rejects.toMatchObject({ code: 'internal' });
      expect(String(shop.incidents.at(-1))).toContain(`operation test/run invoked ${name}`);
    }
  });

  test('cannot go round for ever', async () => {
    await using shop = await openShop();
    const what = onScenario('again', (ctx) => ctx.invoke('test/run', { what: 'again' }));
    await expect(shop.run(owner, 'test/run', { what })).rejects.toMatchObject({ code: 'internal' });
    expect(String(shop.incidents[0])).toContain('more than 16 levels deep');
    expect(await traces(shop)).toEqual(NONE);
  });

  test('is one step of a chain of causes that reads the same from both ends', async () => {
    await using shop = await openShop();
    let depth = 0;
    const what = onScenario('chain', (ctx) => {
      ctx.emit({ type: `box.step${depth}`, entity: { type: 'box', id: `s${depth}` } });
      if (++depth < 5) ctx.invoke('test/run', { what: 'chain' });
    });
    await shop.run(owner, 'test/run', { what });
    const of = async (n: number) =>
      (await shop.scope.history({ entity: { type: 'box', id: `s${n}` }, limit: 1 })).items[0]?.id as never;
    const steps = [0, 1, 2, 3, 4].map((n) => `box.step${n}`);
    const forwards = await shop.scope.effects({ event: await of(0) });
    const backwards = await shop.scope.cause({ event: await of(4) });
    expect(forwards.items.map((each) => each.type)).toEqual(steps.slice(1));
    expect(backwards.items.map((each) => each.type)).toEqual([...steps].reverse());
  });
});

describe('a denial', () => {
  test('is written for a refused check inside a read, which itself leaves nothing', async () => {
    await using shop = await openShop();
    const what = onScenario('read-check', (ctx) => ctx.check('bill.write', { type: 'bill', id: 'b1' }));
    await expect(shop.run(guest, 'test/read', { what })).rejects.toMatchObject({ code: 'permission_denied' });
    const [denial] = (await shop.scope.listDenials({ limit: 10 })).items;
    expect(denial).toMatchObject({
      actor: guest,
      permission: 'bill.write',
      entity: { type: 'bill', id: 'b1' },
      operation: 'test/read',
    });
  });

  test('is one row for one invocation, naming the first refusal, also before If-Match', async () => {
    await using shop = await openShop();
    const what = onScenario('twice', (ctx) => {
      for (const permission of ['bill.write', 'box.read']) {
        try {
          ctx.check(permission);
        } catch {
          // Tries the next.
        }
      }
      throw new Error('and fails besides');
    });
    await expect(shop.run(guest, 'test/run', { what })).rejects.toMatchObject({ reason: 'bill_write' });
    await expect(shop.run(guest, 'box/ship', { box: 'b' }, { ifMatch: '*' })).rejects.toMatchObject({
      code: 'permission_denied',
    });
    const denials = await shop.scope.listDenials({ limit: 10 });
    expect(denials.items.map((each) => [each.operation, each.permission])).toEqual([
      ['box/ship', 'box.ship'],
      ['test/run', 'bill.write'],
    ]);
  });

  test('is not written for asking with can', async () => {
    await using shop = await openShop();
    const what = onScenario('can', (ctx) => ctx.can('bill.write'));
    expect((await shop.run(guest, 'test/run', { what })).output).toBe(false);
    expect((await shop.scope.listDenials({ limit: 10 })).items).toEqual([]);
  });

  test('is found by its actor, by its permission and by both, page by page', async () => {
    await using shop = await openShop();
    for (const who of [guest, anonymous, guest, guest]) {
      await shop.run(who, 'box/pack', { label: 'x' }).catch(() => undefined);
      await shop.run(who, 'bill/write', { box: 'b' }).catch(() => undefined);
    }
    const page = async (filter: { actor?: string; permission?: string }) => {
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const next: { cursor?: string } = cursor === null ? {} : { cursor };
        const { items, nextCursor } = await shop.scope.listDenials({ ...filter, limit: 2, ...next });
        found.push(...items.map((each) => each.id));
        cursor = nextCursor;
      } while (cursor !== null);
      expect(found).toEqual([...new Set(found)].sort().reverse());
      return found.length;
    };
    expect(await page({})).toBe(8);
    expect(await page({ actor: guest })).toBe(6);
    expect(await page({ permission: 'box.pack' })).toBe(4);
    expect(await page({ actor: guest, permission: 'box.pack' })).toBe(3);
    expect(await page({ actor: owner })).toBe(0);
  });
});
