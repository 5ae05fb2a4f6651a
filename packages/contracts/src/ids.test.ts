import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { idSchema, makeIdFactory, scopeId, tenantId, timeOfId } from './ids.ts';

const zeros = (bytes: number) => new Uint8Array(bytes);
const ones = (bytes: number) => new Uint8Array(bytes).fill(0xff);

/** A clock that answers what it is given, and then its last answer for ever. */
function clock(...times: number[]): () => number {
  let at = 0;
  return () => times[Math.min(at++, times.length - 1)] as number;
}

describe('an id', () => {
  test('is its prefix and a lower-case ULID that carries its time', () => {
    const id = makeIdFactory({ now: () => 1_795_000_000_000, random: zeros })('scp');
    expect(id).toMatch(/^scp_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(timeOfId(id)).toBe(1_795_000_000_000);
    expect(scopeId.parse(id)).toBe(id);
  });

  test('of another kind is refused, and so is anything that only looks like one', () => {
    const id = makeIdFactory({ now: () => 1, random: zeros })('scp');
    const bad = [
      id.replace('scp', 'tnt'),
      id.toUpperCase(),
      ` ${id}`,
      `${id}\n`,
      `${id}0`,
      id.slice(0, -1),
      id.replace(/.$/, 'u'),
      `scp_8${'0'.repeat(25)}`,
      'scp_',
      '',
    ];
    for (const each of bad) expect(scopeId.safeParse(each).success, JSON.stringify(each)).toBe(false);
    expect(tenantId.safeParse(id).success).toBe(false);
    expect(idSchema('scp').safeParse(id).success).toBe(true);
  });
});

describe('ids of one factory', () => {
  test('increase strictly, whatever the clock does', () => {
    const times = fc.array(fc.integer({ min: 0, max: 2 ** 48 - 1_000 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(times, fc.infiniteStream(fc.integer({ min: 0, max: 255 })), (ms, bytes) => {
        const random = (howMany: number) =>
          Uint8Array.from({ length: howMany }, () => bytes.next().value as number);
        const next = makeIdFactory({ now: clock(...ms), random });
        const ids = Array.from({ length: ms.length + 3 }, () => next('evt'));
        expect([...ids].sort()).toEqual(ids);
        expect(new Set(ids).size).toBe(ids.length);
      }),
      { numRuns: 200 },
    );
  });

  test('of one millisecond differ by one, with a carry', () => {
    const next = makeIdFactory({ now: () => 5, random: ones });
    expect(next('evt').endsWith('fzzzzzzzzzzzzzzz')).toBe(true);
    expect(next('evt').endsWith('g000000000000000')).toBe(true);
  });

  test('go on in the next millisecond when one has run out', () => {
    const next = makeIdFactory({ now: () => 5, random: zeros });
    next.observe(`evt_0000000005${'z'.repeat(16)}`);
    const id = next('evt');
    expect(timeOfId(id)).toBe(6);
    expect(next('evt') > id).toBe(true);
  });

  test('are greater than an observed one of another process, and an older one changes nothing', () => {
    const other = makeIdFactory({ now: () => 9_000, random: ones })('evt');
    const next = makeIdFactory({ now: () => 5_000, random: zeros });
    const before = next('evt');
    next.observe(other);
    const after = next('evt');
    expect(after > other).toBe(true);
    next.observe(before);
    next.observe(other);
    expect(next('evt') > after).toBe(true);
  });
});

test.each([Number.NaN, -1, 1.5, 2 ** 48, Number.POSITIVE_INFINITY])(
  'a clock that answers %d makes no id, now and later',
  (ms) => {
    const next = makeIdFactory({ now: () => ms, random: zeros });
    expect(() => next('evt')).toThrow(RangeError);
    expect(() => next('evt')).toThrow(RangeError);
  },
);
