import { describe, expect, test } from 'vitest';
import { answerOtherMethod, callersRequestId, requireSameOrigin } from './request.ts';

describe('the request id of a caller', () => {
  const idOf = (sent: string) => callersRequestId(new Headers({ 'x-request-id': sent }));

  test.each([['a'], ['req_01h:a/b'], ['trace-0af7:1.2_3'], ['Root=1-67891233'], ['x'.repeat(128)]])(
    '%s is read',
    (sent) => {
      expect(idOf(sent)).toBe(sent);
    },
  );

  test.each([[''], ['a b'], ['"a"'], ['{a}'], ['<a>'], ['-a'], ['=1+1'], ['é'], ['x'.repeat(129)]])(
    '%j is none',
    (sent) => {
      expect(idOf(sent)).toBeNull();
    },
  );
});

describe('a method that an address does not have', () => {
  test('is refused with those that it has, in one order', () => {
    for (const declared of [
      ['POST', 'GET'],
      ['GET', 'POST'],
    ])
      expect(() => answerOtherMethod('PUT', declared)).toThrow(
        expect.objectContaining({
          code: 'method_not_allowed',
          headers: { allow: 'GET, HEAD, OPTIONS, POST' },
        }),
      );
  });

  test('is answered when it is OPTIONS', () => {
    const response = answerOtherMethod('OPTIONS', ['DELETE']);
    expect([response.status, [...response.headers]]).toEqual([204, [['allow', 'DELETE, OPTIONS']]]);
  });
});

describe('an unsafe request', () => {
  const own = 'https://own.example';
  const passes = (headers: Record<string, string>, pageOnly: boolean): boolean => {
    try {
      requireSameOrigin(new Headers(headers), own, { pageOnly });
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: 'forbidden', reason: 'cross_site' });
      return false;
    }
  };

  test.each<[Record<string, string>]>([
    [{ 'sec-fetch-site': 'same-origin' }],
    // Behind a proxy that ends TLS the origin reads differently, and the browser still knows.
    [{ 'sec-fetch-site': 'same-origin', origin: 'http://own.example' }],
    [{ origin: own }],
  ])('from our own page passes: %j', (headers) => {
    expect([passes(headers, false), passes(headers, true)]).toEqual([true, true]);
  });

  test.each<[Record<string, string>]>([[{}], [{ 'sec-fetch-site': 'none' }]])(
    'that no page made passes where pages are not the only callers: %j',
    (headers) => {
      expect([passes(headers, false), passes(headers, true)]).toEqual([true, false]);
    },
  );

  test.each<[Record<string, string>]>([
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
    [{ 'sec-fetch-site': '' }],
    [{ 'sec-fetch-site': 'cross-site', origin: own }],
    [{ origin: 'https://evil.example' }],
    [{ origin: 'https://other.own.example' }],
    [{ origin: 'null' }],
  ])('from another page is refused: %j', (headers) => {
    expect([passes(headers, false), passes(headers, true)]).toEqual([false, false]);
  });
});
