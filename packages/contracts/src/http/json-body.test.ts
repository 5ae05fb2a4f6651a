import { describe, expect, test } from 'vitest';
import { readJsonObject } from './request.ts';

type Body = string | Uint8Array<ArrayBuffer>;

function read(body: Body | undefined, headers: Record<string, string> = {}, limitBytes?: number) {
  const init = { method: 'POST', headers, ...(body === undefined ? {} : { body }) };
  return readJsonObject(new Request('https://a.example/', init), limitBytes);
}

const json = { 'content-type': 'application/json' };
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

test('an object is read as it is', async () => {
  const value = await read('{"a":[1,"\u00fc"],"constructor":{"b":1}}', json);
  expect(Object.entries(value)).toEqual([
    ['a', [1, 'ü']],
    ['constructor', { b: 1 }],
  ]);
});

test('a member named __proto__ is refused, however deep: later readers would drop it or set a prototype', async () => {
  for (const body of ['{"__proto__":{"b":1}}', '{"a":[{"__proto__":1}]}']) {
    await expect(read(body, json)).rejects.toMatchObject({
      code: 'validation_failed',
      reason: 'body_reserved_name',
    });
  }
});

test('two members of one name are refused, however they are written: another reader would see the other value', async () => {
  for (const body of [
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '{"list":[{"x":1,"x":2}]}',
    '{"q\\"":1 , "q\\"" : 2}',
  ])
    await expect(read(body, json), body).rejects.toMatchObject({
      code: 'validation_failed',
      reason: 'body_duplicate_name',
    });
  const body = '{"a":"\\\\","b":{"a":["\\":",{"a":"x\\\\\\":"}]},"": ":"}';
  expect(await read(body, json)).toEqual(JSON.parse(body));
});

test('no body is an empty object, whether or not it says that it is JSON', async () => {
  expect(await read(undefined)).toEqual({});
  expect(await read('', json)).toEqual({});
});

test.each([
  ['application/json'],
  ['Application/JSON; Charset="UTF-8"'],
  ['application/json;charset=utf-8'],
  ['application/json;'],
])('%s is taken', async (type) => {
  expect(await read('{"a":1}', { 'content-type': type })).toEqual({ a: 1 });
});

test.each([
  ['text/plain'],
  ['application/jsonp'],
  ['application/merge-patch+json'],
  ['application/json; charset=latin1'],
  ['application/json, text/plain'],
  [''],
])('%j is refused, also without a body', async (type) => {
  for (const body of ['{"a":1}', undefined])
    await expect(read(body, { 'content-type': type })).rejects.toMatchObject({
      code: 'unsupported_media_type',
      headers: { accept: 'application/json' },
    });
});

test('bytes without a type, and compressed ones, are refused', async () => {
  await expect(read(new TextEncoder().encode('{}'))).rejects.toMatchObject({
    code: 'unsupported_media_type',
  });
  await expect(read('{}', { ...json, 'content-encoding': 'gzip' })).rejects.toMatchObject({
    code: 'unsupported_media_type',
    headers: { 'accept-encoding': 'identity' },
  });
  expect(await read('{}', { ...json, 'content-encoding': 'identity' })).toEqual({});
});

describe('what cannot be taken over is refused with its reason', () => {
  test.each<[string, Body]>([
    ['body_not_json', '{'],
    ['body_not_json', '{}{}'],
    ['body_not_object', '[]'],
    ['body_not_object', 'null'],
    ['body_not_utf8', Uint8Array.of(0x7b, 0xff, 0x7d)],
    ['body_not_unicode', '{"a":"\\ud800"}'],
    ['body_not_unicode', '{"\\ud800":1}'],
    ['body_too_deep', nested(65)],
    ['body_too_deep', `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`],
  ])('%s', async (reason, body) => {
    await expect(read(body, json)).rejects.toMatchObject({ code: 'validation_failed', reason });
  });

  test('64 levels are none too many', async () => {
    expect(JSON.stringify(await read(nested(64), json))).toBe(nested(64));
  });
});

test('the limit is on the bytes that arrive, and on those that are announced', async () => {
  expect(await read('{"a":12}', json, 8)).toEqual({ a: 12 });
  await expect(read('{"a":123}', json, 8)).rejects.toMatchObject({ code: 'payload_too_large' });
  const announced = read('{}', { ...json, 'content-length': '9' }, 8);
  await expect(announced).rejects.toMatchObject({ code: 'payload_too_large' });
});
