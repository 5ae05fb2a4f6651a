import { afterEach, expect, test, vi } from 'vitest';
import { isResponse } from './is-response.ts';

afterEach(() => vi.unstubAllGlobals());

test('an answer of fetch is a response also where another class took the place of the global one', () => {
  const fetched = new Response('fetched');
  vi.stubGlobal('Response', class extends Response {});
  expect(fetched instanceof Response).toBe(false);
  expect([fetched, new Response('made'), fetched.clone()].map(isResponse)).toEqual([true, true, true]);
  expect([null, undefined, {}, 'Response', { status: 200, headers: new Headers() }].some(isResponse)).toBe(
    false,
  );
});
