/** Real hashes: stored, parsed, and refused as too dear. */
import { PlatformError } from '@freehold/contracts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { testRandom } from '../../../test/support.ts';
import { makePasswordHasher, makeWorkQueue } from './password-hash.ts';
import { formatPhc, parsePhc } from './phc-string.ts';

const hasher = makePasswordHasher({ random: testRandom() });
const scrypt = makePasswordHasher({ random: testRandom(), kind: 'scrypt' });

describe('hashing', () => {
  test('argon2id where the runtime has it, at OWASP’s cost, as a PHC string with a salt of its own', async () => {
    const [one, two] = [await hasher.hash('seven green bottles'), await hasher.hash('seven green bottles')];
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(two).not.toBe(one);
  });

  test('scrypt elsewhere, with 32 MiB', async () => {
    expect(await scrypt.hash('seven green bottles')).toMatch(
      /^\$scrypt\$ln=15,r=8,p=3\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/,
    );
  });

  test('either verifies the other’s, and finds it out of date', async () => {
    const [mine, other] = [await hasher.hash('pass phrase'), await scrypt.hash('pass phrase')];
    expect(await hasher.verify('pass phrase', mine)).toEqual({
      right: true,
      outdated: false,
      unreadable: false,
    });
    expect(await hasher.verify('pass phrase', other)).toEqual({
      right: true,
      outdated: true,
      unreadable: false,
    });
    expect(await scrypt.verify('pass phrase', mine)).toMatchObject({ right: true, outdated: true });
    expect(await hasher.verify('pass phrase!', mine)).toMatchObject({ right: false });
    expect(await hasher.verify('', mine)).toMatchObject({ right: false });
  });

  test('agrees with published vectors', async () => {
    // RFC 7914, section 12, the third vector.
    const key =
      '7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2' +
      'd5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887';
    const rfc7914 = formatPhc({
      cost: { kind: 'scrypt', logN: 14, blockSize: 8, parallelism: 1 },
      salt: new TextEncoder().encode('SodiumChloride'),
      hash: Uint8Array.from(Buffer.from(key, 'hex')),
    });
    expect(await hasher.verify('pleaseletmein', rfc7914)).toMatchObject({ right: true, outdated: true });
    // The reference implementation of argon2, its own tests.
    const reference =
      '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
    expect(await hasher.verify('password', reference)).toMatchObject({ right: true, outdated: true });
    expect(await hasher.verify('passwore', reference)).toMatchObject({ right: false });
  });

  test('a password is not cut short, and composed and decomposed characters are the same', async () => {
    const long = 'a'.repeat(255);
    const stored = await hasher.hash(`${long}b`);
    expect(await hasher.verify(`${long}c`, stored)).toMatchObject({ right: false });
    const composed = await hasher.hash('caf\u00e9 cr\u00e8me');
    expect(await hasher.verify('cafe\u0301 cre\u0300me', composed)).toMatchObject({ right: true });
  });

  test('no stored hash is wrong with any password, and takes its turn in the queue like any other', async () => {
    expect(await hasher.verify('anything', null)).toEqual({
      right: false,
      outdated: false,
      unreadable: false,
    });
    const narrow = makePasswordHasher({ random: testRandom(), atOnceMax: 1, waitingMax: 0 });
    const busy = narrow.hash('seven green bottles');
    for (const stored of [null, 'unreadable'])
      await expect(narrow.verify('anything', stored)).rejects.toMatchObject({ reason: 'busy' });
    await busy;
  });

  test('a hash that cannot be computed is never right, and says so', async () => {
    for (const stored of [
      '$2b$10$abcdefghijklmnopqrstuv',
      'plain',
      '',
      '$argon2i$v=19$m=8,t=1,p=1$AAAA$AAAA',
    ])
      expect(await hasher.verify(stored, stored)).toEqual({
        right: false,
        outdated: false,
        unreadable: true,
      });
  });
});

test.each([
  ['small blocks', 'scrypt$ln=15,r=1,p=1'],
  ['many small lanes', 'scrypt$ln=1,r=16,p=99'],
  ['more lanes than memory', 'scrypt$ln=4,r=8,p=64'],
])('scrypt with %s is computed, and never an error', async (_, setting) => {
  const stored = `$${setting}$AAAAAAAAAAAAAAAAAAAAAA$${'A'.repeat(43)}`;
  expect(await hasher.verify('anything', stored)).toEqual({
    right: false,
    outdated: true,
    unreadable: false,
  });
});

test('a task in its turn hashes as often as it must, and is not turned away in between', async () => {
  const narrow = makePasswordHasher({ random: testRandom(), atOnceMax: 1, waitingMax: 0 });
  const turn = narrow.inTurn?.(async (work) => {
    const stored = await work.hash('seven green bottles');
    await expect(narrow.hash('another')).rejects.toMatchObject({ reason: 'busy' });
    return work.verify('seven green bottles', stored);
  });
  expect(await turn).toMatchObject({ right: true });
  expect(await narrow.verify('anything', null)).toMatchObject({ right: false });
});

describe('PHC strings', () => {
  const salt = 'AAAAAAAAAAAAAAAAAAAAAA';
  const hash = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

  test.each([
    ['ten gigabytes', `$argon2id$v=19$m=10485760,t=2,p=1$${salt}$${hash}`],
    ['more than 128 MiB', `$argon2id$v=19$m=131073,t=1,p=1$${salt}$${hash}`],
    ['hundreds of passes', `$argon2id$v=19$m=65536,t=999,p=1$${salt}$${hash}`],
    ['no passes', `$argon2id$v=19$m=19456,t=0,p=1$${salt}$${hash}`],
    ['less memory than its lanes need', `$argon2id$v=19$m=8,t=1,p=2$${salt}$${hash}`],
    ['another version', `$argon2id$v=16$m=19456,t=2,p=1$${salt}$${hash}`],
    ['N of 2^40', `$scrypt$ln=40,r=8,p=1$${salt}$${hash}`],
    ['N of 2^99', `$scrypt$ln=99,r=1,p=1$${salt}$${hash}`],
    ['N of 1', `$scrypt$ln=0,r=8,p=1$${salt}$${hash}`],
    ['N that its blocks cannot have (RFC 7914, section 2)', `$scrypt$ln=16,r=1,p=1$${salt}$${hash}`],
    ['huge blocks', `$scrypt$ln=10,r=999,p=1$${salt}$${hash}`],
    ['many lanes', `$scrypt$ln=17,r=8,p=99$${salt}$${hash}`],
    ['a salt of nothing', `$scrypt$ln=10,r=8,p=1$AA$${hash}`],
    ['a hash of one byte', `$scrypt$ln=10,r=8,p=1$${salt}$AA`],
    ['a hash of a kilobyte', `$scrypt$ln=10,r=8,p=1$${salt}$${'A'.repeat(1_366)}`],
    ['a length that base64 has not', `$scrypt$ln=10,r=8,p=1$${salt}$${hash}AA`],
    ['something behind it', `$scrypt$ln=10,r=8,p=1$${salt}$${hash}$`],
  ])('%s is not parsed', (_, text) => {
    expect(parsePhc(text)).toBeNull();
  });

  test("OWASP's recommendation of either is parsed", () => {
    for (const head of [
      'argon2id$v=19$m=47104,t=1,p=1',
      'argon2id$v=19$m=7168,t=5,p=1',
      'scrypt$ln=17,r=8,p=1',
    ])
      expect(parsePhc(`$${head}$${salt}$${hash}`)).not.toBeNull();
  });

  test('a formatted hash is parsed back', () => {
    const bytes = (min: number) => fc.uint8Array({ minLength: min, maxLength: 64 });
    const cost = fc.record({
      kind: fc.constant('argon2id' as const),
      memoryKib: fc.integer({ min: 128, max: 65_536 }),
      passes: fc.integer({ min: 1, max: 8 }),
      lanes: fc.integer({ min: 1, max: 16 }),
    });
    fc.assert(
      fc.property(cost, bytes(8), bytes(16), (present, someSalt, someHash) => {
        const record = { cost: present, salt: someSalt, hash: someHash };
        expect(parsePhc(formatPhc(record))).toEqual(record);
      }),
    );
  });

  test('no text makes it throw', () => {
    fc.assert(fc.property(fc.string(), (text) => void parsePhc(text)));
    fc.assert(fc.property(fc.string(), (text) => void parsePhc(`$scrypt$ln=1,r=1,p=1$${text}$${text}`)));
  });
});

describe('the queue', () => {
  test('runs four at a time, in order, and turns away those without a place', async () => {
    const run = makeWorkQueue({ atOnceMax: 4, waitingMax: 2 });
    const running = { now: 0, most: 0 };
    const gates: (() => void)[] = [];
    const finished: number[] = [];
    const work = (id: number) => () =>
      new Promise<void>((resolve) => {
        running.now += 1;
        running.most = Math.max(running.most, running.now);
        gates.push(() => {
          running.now -= 1;
          finished.push(id);
          resolve();
        });
      });
    const all = [0, 1, 2, 3, 4, 5].map((id) => run(work(id)));
    const refused = await run(work(6)).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(PlatformError);
    expect(refused).toMatchObject({ code: 'unavailable', reason: 'busy', headers: { 'retry-after': '5' } });
    for (let next = 0; next < 6; next += 1) {
      gates[next]?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
    expect([running.most, finished]).toEqual([4, [0, 1, 2, 3, 4, 5]]);
  });

  test('a failing task passes its place on', async () => {
    const run = makeWorkQueue({ atOnceMax: 1, waitingMax: 1 });
    const failed = run(async () => Promise.reject(new Error('no')));
    const after = run(async () => 'done');
    await expect(failed).rejects.toThrow('no');
    expect(await after).toBe('done');
    expect(await run(async () => 'again')).toBe('again');
  });
});
