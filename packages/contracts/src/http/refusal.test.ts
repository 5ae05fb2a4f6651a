import { expect, test } from 'vitest';
import { PlatformError } from '../problems.ts';
import { refusal } from './refusal.ts';

const error = new PlatformError('unavailable', 'Not <now>, later & louder.', {
  headers: { 'retry-after': '5' },
});

test('software gets a problem document', async () => {
  const response = refusal(new Headers({ accept: 'application/json' }), error);
  expect([
    response.status,
    response.headers.get('content-type'),
    response.headers.get('retry-after'),
  ]).toEqual([503, 'application/problem+json', '5']);
});

test('a browser that navigates gets the same sentence as a page, without scripts', async () => {
  const response = refusal(new Headers({ accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }), error);
  expect([
    response.status,
    response.headers.get('content-type'),
    response.headers.get('retry-after'),
  ]).toEqual([503, 'text/html; charset=utf-8', '5']);
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(await response.text()).toContain('<p>Not &lt;now&gt;, later &amp; louder.</p>');
});
