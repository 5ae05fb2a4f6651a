/** The pool of one opening: each key goes one way, and only forwards. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ALLOTMENT_MAX,
  ALLOTMENT_MIN,
  accept,
  emptyPool,
  giveUp,
  leave,
  needFor,
  type PoolState,
  refillOf,
  take,
} from './subject-keys.ts';

let made = 0;

function keysOf(count: number) {
  return Array.from({ length: count }, () => {
    made += 1;
    return { keyId: `key_${made}`, key: Buffer.alloc(32, made).toString('base64url') };
  });
}

function filled(count: number): PoolState {
  const pool = emptyPool('now');
  accept(pool, { opening: 'now', keys: keysOf(count) });
  return pool;
}

test('the first allotment is 8; a pool that is used up grows to 256, and no further', () => {
  const pool = emptyPool('now');
  expect(needFor(pool, 1)).toEqual({ opening: 'now', count: ALLOTMENT_MIN });
  const counts: number[] = [];
  for (let turn = 0; turn < 8; turn++) {
    const need = needFor(pool, 1) ?? { count: 0 };
    counts.push(need.count);
    accept(pool, { opening: 'now', keys: keysOf(need.count) });
    while (take(pool, `cus_${made}_${pool.free.size}`));
  }
  expect(counts).toEqual([8, 8, 16, 32, 64, 128, 256, ALLOTMENT_MAX]);
});

test('an operation that makes more persons than a pool holds asks for as many', () => {
  expect(needFor(filled(8), 100)).toEqual({ opening: 'now', count: 92 });
  expect(needFor(filled(8), 8)).toBeNull();
});

test('a pool is filled up when half of it is used, and not before anything asked for it', () => {
  expect(refillOf(emptyPool('now'))).toBeNull();
  const pool = filled(8);
  for (let used = 1; used <= 3; used++) {
    take(pool, `cus_${used}`);
    expect(refillOf(pool)).toBeNull();
  }
  take(pool, 'cus_4');
  expect(refillOf(pool)).toEqual({ opening: 'now', count: 12 });
});

test('keys of another opening are not accepted', () => {
  const pool = emptyPool('now');
  accept(pool, { opening: 'before', keys: keysOf(8) });
  expect(take(pool, 'cus_1')).toBeNull();
});

test('a frozen pool gives no key and takes none, and thaws as it was', () => {
  const pool = filled(8);
  pool.isFrozen = true;
  accept(pool, { opening: 'now', keys: keysOf(8) });
  expect(take(pool, 'cus_1')).toBeNull();
  expect(needFor(pool, 1)).toEqual({ opening: 'now', count: 0 });
  pool.isFrozen = false;
  expect(pool.free.size).toBe(8);
});

test('a key that comes twice is a fault', () => {
  const [key] = keysOf(1);
  const pool = emptyPool('now');
  const allotment = { opening: 'now', keys: [key as never] };
  accept(pool, allotment);
  expect(() => accept(pool, allotment)).toThrow('twice');
  take(pool, 'cus_1');
  expect(() => accept(pool, allotment)).toThrow('twice');
});

test('what is handed back was never taken', () => {
  const pool = filled(8);
  const taken = take(pool, 'cus_1');
  leave(pool, 'cus_1');
  const unused = giveUp(pool);
  expect(unused).toHaveLength(7);
  expect(unused).not.toContain(taken?.keyId);
  expect(take(pool, 'cus_2')).toBeNull();
});

test('whatever is done with a pool, no key is given for two subjects', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('accept' as const), count: fc.nat({ max: 5 }) }),
    fc.record({ do: fc.constant('take' as const), subject: fc.nat({ max: 3 }) }),
    fc.record({ do: fc.constant('leave' as const), subject: fc.nat({ max: 3 }) }),
    fc.record({ do: fc.constantFrom('freeze' as const, 'thaw' as const, 'giveUp' as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const pool = emptyPool('now');
      const given: string[] = [];
      const returned: string[] = [];
      for (const each of steps) {
        if (each.do === 'accept') accept(pool, { opening: 'now', keys: keysOf(each.count) });
        else if (each.do === 'take') given.push(...[take(pool, `cus_${each.subject}`)?.keyId ?? []].flat());
        else if (each.do === 'leave') leave(pool, `cus_${each.subject}`);
        else if (each.do === 'giveUp') returned.push(...giveUp(pool));
        else pool.isFrozen = each.do === 'freeze';
      }
      expect(new Set([...given, ...returned]).size).toBe(given.length + returned.length);
    }),
  );
});
