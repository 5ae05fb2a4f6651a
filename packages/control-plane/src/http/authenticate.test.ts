/** Which of several credentials a request is judged by, and that none stands in for one that was refused. */
import { PlatformError } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { SERVICE, STAFF, TOKEN } from '../../test/support/host-admin-double.ts';
import { authenticate } from './serve.ts';

const VERTICAL = { kind: 'vertical', id: 'fieldwork', name: 'fieldwork' };
const token = { authorization: `Bearer ${TOKEN}` };
const wrongToken = { authorization: 'Bearer fh_svc_wrong' };
const secret = { 'x-platform-secret': 'good' };
const wrongSecret = { 'x-platform-secret': 'wrong' };
const session = { cookie: 'a session', 'sec-fetch-site': 'same-origin', origin: 'https://control.example' };

const through = {
  hostAdmin: { authenticate: async (shown: string) => (shown === TOKEN ? SERVICE : null) },
  staffSession: async ({ headers }: Request) => (headers.has('cookie') ? STAFF : null),
  verticalOf: async (shown: string) => {
    if (shown === 'good') return 'fieldwork';
    throw new PlatformError('forbidden', 'No.', { reason: 'platform_secret_mismatch' });
  },
};

async function judged(headers: Record<string, string>, by: Partial<typeof through> = through) {
  const request = new Request('https://control.example/tenants', { method: 'POST', headers });
  return authenticate(request, { ...by, hostAdmin: through.hostAdmin }).catch(({ reason }) => reason);
}

// spec C-01, 5.5, 5.6
test.each<[string, Record<string, string>, unknown]>([
  ['a token', token, SERVICE],
  ['a vertical’s secret', secret, VERTICAL],
  ['a session', session, STAFF],
  ['nothing', {}, 'token_missing'],
  ['a token, with a vertical’s secret', { ...token, ...secret }, SERVICE],
  ['a token, with a wrong secret', { ...token, ...wrongSecret }, SERVICE],
  ['a wrong token, with a vertical’s secret', { ...wrongToken, ...secret }, 'token_invalid'],
  ['a wrong token, with a session', { ...wrongToken, ...session }, 'token_invalid'],
  ['no token behind the scheme, with a session', { authorization: 'Bearer', ...session }, 'token_invalid'],
  ['another scheme, with a session', { authorization: 'Basic YTpi', ...session }, 'token_invalid'],
  ['a vertical’s secret, with a session', { ...secret, ...session }, VERTICAL],
  ['a wrong secret, with a session', { ...wrongSecret, ...session }, 'platform_secret_mismatch'],
  ['an empty secret, with a session', { 'x-platform-secret': '', ...session }, 'platform_secret_mismatch'],
])('%s', async (_, headers, expected) => {
  expect(await judged(headers)).toEqual(expected);
});

test('where verticals have nothing to show, their secret is nothing', async () => {
  const { verticalOf: _, ...others } = through;
  expect(await judged(secret, others)).toBe('token_missing');
  expect(await judged({ ...secret, ...session }, others)).toEqual(STAFF);
});
