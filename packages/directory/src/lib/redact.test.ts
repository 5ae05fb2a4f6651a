/** A redacted message is the same for every occurrence, and holds no personal data. */
import { describe, expect, test } from 'vitest';
import { errorShapeOf, fingerprintOf } from '../issues/fingerprint.ts';
import { redact } from './redact.ts';

test.each([
  ['order ord_1 has 3 lines, 2.50 too few', 'order ord_1 has <n> lines, <n> too few'],
  ['scope scp_01jd0000000000000000000001 is gone', 'scope <id> is gone'],
  ['row 3F2504E0-4F89-11D3-9A0C-0305E82C3301 is gone', 'row <id> is gone'],
  ['connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED <address>'],
  ['connect ECONNREFUSED 2001:db8::1 now', 'connect ECONNREFUSED <address> now'],
  ['at 0x7ffdeadbeef in heap', 'at <address> in heap'],
  ['no such user ada@example.com here', 'no such user <email> here'],
  ['GET https://a.example/?token=abc failed', 'GET <url> failed'],
  ["cannot read 'ada lovelace' as a date", 'cannot read <text> as a date'],
  ['Unexpected token in "{\\"name', 'Unexpected token in <text>'],
  ['"{"name": "Ada"}" is not valid JSON', '<text> is not valid JSON'],
  ['..."name": "Ada Love... is not valid JSON', '...<text>'],
  ['bad body {name: Ada} here', 'bad body <text> here'],
  ['bad body {name: Ada', 'bad body <text>'],
  ['value "that was cut off', 'value <text>'],
  ['open /var/lib/tenants/acme.sqlite failed', 'open <path> failed'],
  ['bad password=hunter2 given', 'bad password=<secret> given'],
  ['authorization: hunter2', 'authorization=<secret>'],
  ['Bearer abcdef was refused', '<secret> was refused'],
  ['key fh_svc_0123456789abcdefghij was refused', 'key <token> was refused'],
  ['hash deadbeef0123456789abcdef differs', 'hash <token> differs'],
  ['the table orders is missing', 'the table orders is missing'],
  ["it doesn't fit and won't", "it doesn't fit and won't"],
  ['two\n\tlines\u0000', 'two lines'],
])('%j is shown as %j', (message, shown) => {
  expect(redact(message)).toBe(shown);
});

test('whatever comes in, no more than 300 characters go out, and they are whole', () => {
  for (const hostile of [
    'a'.repeat(1_000_000),
    `${'x'.repeat(999)}\ud83d`,
    'a@'.repeat(100_000),
    '1.'.repeat(100_000),
    ':'.repeat(100_000),
    '/'.repeat(100_000),
    'a1-'.repeat(100_000),
    '"'.repeat(100_001),
    '{'.repeat(100_000),
    'password'.repeat(50_000),
  ]) {
    const shown = redact(hostile);
    expect(shown.length).toBeLessThanOrEqual(300);
    expect(shown.isWellFormed()).toBe(true);
  }
});

describe('a fingerprint', () => {
  const where = { vertical: 'fieldwork', where: 'scope-fieldwork.invoke' };
  const of = (error: unknown, grouping: typeof where = where) => fingerprintOf(grouping, errorShapeOf(error));
  const thrown = (message: string, line = 7, file = '/srv/a/orders.ts') => ({
    name: 'TypeError',
    message,
    stack: `TypeError: ${message}\n    at complete (file://${file}:${line}:3)\n    at async Object.run (node:internal/run:1:1)`,
  });

  test('is the same over ids, numbers, addresses, lines and folders', () => {
    expect(of(thrown('order 12 at 10.0.0.1 is broken', 7))).toBe(
      of(thrown('order 978 at 192.168.4.77 is broken', 31, '/opt/b/orders.ts')),
    );
  });

  test('differs by what is wrong, by where, and by vertical', () => {
    const all = [
      of(thrown('order 12 is broken')),
      of(thrown('order 12 is lost')),
      of({ ...thrown('order 12 is broken'), name: 'RangeError' }),
      of(thrown('order 12 is broken', 7, '/srv/a/customers.ts')),
      of(thrown('order 12 is broken'), { ...where, where: 'scope-fieldwork.read' }),
      of(thrown('order 12 is broken'), { ...where, vertical: 'other' }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  test('frames name functions, files and lines, without folders', () => {
    expect(errorShapeOf(thrown('x')).frames).toEqual(['complete (orders.ts:7)', 'Object.run (run:1)']);
  });

  test('a message that looks like frames brings none in', () => {
    const message = 'gone\n    at ada@example.com (/home/secret-name.ts:1:1)';
    expect(errorShapeOf(thrown(message)).frames[0]).toBe('complete (orders.ts:7)');
  });

  test('anything at all can be thrown', () => {
    const trap = new Proxy({}, { get: () => expect.unreachable() });
    const all = [
      undefined,
      null,
      7,
      'just text 7',
      Symbol('x'),
      trap,
      { name: '<script>', message: 4, stack: {} },
    ];
    for (const each of all) expect(errorShapeOf(each)).toMatchObject({ name: 'Error', frames: [] });
    expect(errorShapeOf('just text 7').message).toBe('just text <n>');
  });
});
