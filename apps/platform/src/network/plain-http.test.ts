/** Requests in the clear, below a public address that is https and below one that is not. */
import { expect, test } from 'vitest';
import { makePlainHttp } from './plain-http.ts';
import { makeProxyReader } from './proxies.ts';

const PROXY = '10.0.0.1';
const said: string[] = [];

function makePolicy(publicUrl: string | null, trusted: readonly string[] = [PROXY]) {
  said.length = 0;
  const read = makeProxyReader(trusted);
  const policy = makePlainHttp({
    publicUrl: publicUrl === null ? null : new URL(publicUrl),
    originOf: (hostname) => `https://${hostname}`,
    onHidden: (_, sentence) => said.push(sentence),
  });
  return (url: string, headers: Record<string, string> = {}, { method = 'GET', peer = PROXY } = {}) => {
    const seen = read(new Request(url, { method, headers }), peer);
    const answer = policy?.answer(seen, peer) ?? null;
    return {
      status: answer?.status ?? null,
      location: answer?.headers.get('location') ?? null,
      isStrict: policy?.isStrict(seen) ?? false,
    };
  };
}

const CLEAR = { 'x-forwarded-proto': 'http' };
const served = (isStrict: boolean) => ({ status: null, location: null, isStrict });

test('a read is redirected to the same place over https, and hears nothing of HSTS in the clear', () => {
  const ask = makePolicy('https://apps.test');
  const location = 'https://acme.apps.test//evil.test/a?b=%2F';
  for (const method of ['GET', 'HEAD'])
    expect(ask('http://acme.apps.test:8787//evil.test/a?b=%2F', CLEAR, { method })).toEqual({
      status: 308,
      location,
      isStrict: false,
    });
  // Also a customer's own name, and a sender that comes past the proxy.
  expect(ask('http://jobs.customer.test/', CLEAR).location).toBe('https://jobs.customer.test/');
  expect(ask('http://acme.apps.test/', {}, { peer: '203.0.113.9' })).toMatchObject({ status: 308 });
  expect(said).toEqual([]);
});

test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
  'a %s is refused: its body is out already',
  (method) => {
    const ask = makePolicy('https://apps.test');
    expect(ask('http://acme.apps.test/api/orders', CLEAR, { method })).toEqual({
      status: 403,
      location: null,
      isStrict: false,
    });
  },
);

test('over https everything is served, with HSTS', () => {
  const ask = makePolicy('https://apps.test');
  for (const method of ['GET', 'POST'])
    expect(ask('http://acme.apps.test/', { 'x-forwarded-proto': 'https' }, { method })).toEqual(served(true));
});

test.each([
  '/healthz',
  '/readyz',
  '/internal/connections/connect-url',
  '/.well-known/freehold-challenge/abc',
])('%s is answered in the clear, and its neighbours are not', (path) => {
  const ask = makePolicy('https://apps.test');
  for (const method of ['GET', 'POST'])
    expect(ask(`http://api.apps.test${path}`, CLEAR, { method })).toEqual(served(false));
  for (const other of ['/healthzz', '/internals', '/x/readyz', '/.well-known/x'])
    expect(ask(`http://api.apps.test${other}`, CLEAR).status).toBe(308);
});

test('names of this machine are the operator without a proxy', () => {
  const ask = makePolicy('https://apps.test');
  for (const host of ['localhost:8787', 'api.localhost:8787', '127.0.0.1:8787', '[::1]:8787'])
    expect(ask(`http://${host}/whoami`, {}, { method: 'POST', peer: '127.0.0.1' })).toEqual(served(false));
  const tried = makePolicy('https://apps.localhost');
  expect(tried('http://acme.apps.localhost/', CLEAR)).toMatchObject({ status: 308 });
});

test('a proxy whose header is not trusted is named once, and no browser is sent in a circle', () => {
  const ask = makePolicy('https://apps.test', []);
  for (const peer of [PROXY, PROXY, `::ffff:${PROXY}`])
    expect(ask('http://acme.apps.test/', { 'x-forwarded-proto': 'https' }, { peer })).toEqual(served(true));
  expect(said).toEqual([
    expect.stringMatching(/^The proxy at 10\.0\.0\.1 is not in FREEHOLD_TRUSTED_PROXIES/),
  ]);
  // A proxy that writes nothing: only over https does a browser say how it fetches.
  const silent = makePolicy('https://apps.test', []);
  expect(silent('http://acme.apps.test/', { 'sec-fetch-mode': 'navigate' })).toEqual(served(true));
  expect(said).toHaveLength(1);
});

test('a trusted proxy that does not say how its callers came is named', () => {
  const ask = makePolicy('https://apps.test');
  expect(ask('http://acme.apps.test/')).toEqual(served(true));
  expect(said).toEqual([expect.stringContaining('does not say in X-Forwarded-Proto')]);
});

test('a trusted proxy behind one that ended TLS sends no browser in a circle', () => {
  for (const written of ['http', 'https, http']) {
    const ask = makePolicy('https://apps.test');
    const headers = { 'x-forwarded-proto': written, 'sec-fetch-mode': 'navigate' };
    expect(ask('http://acme.apps.test/', headers)).toEqual(served(true));
    expect(said).toEqual([expect.stringContaining('pass on the one of the proxy before it')]);
    // Without TLS no browser says how it fetches.
    expect(ask('http://acme.apps.test/', { 'x-forwarded-proto': written })).toMatchObject({ status: 308 });
  }
});

test('programs behind a proxy that writes nothing are served once a browser gave it away', () => {
  const ask = makePolicy('https://apps.test', []);
  const program = () => ask('http://api.apps.test/tenants', {}, { method: 'POST' });
  expect(program().status).toBe(403);
  ask('http://acme.apps.test/', { 'sec-fetch-mode': 'navigate' });
  expect(program()).toEqual(served(true));
});

test('senders that look like proxies do not fill the log', () => {
  const ask = makePolicy('https://apps.test', []);
  for (let sender = 0; sender < 50; sender += 1)
    ask('http://acme.apps.test/', { via: '1.1 x' }, { peer: `203.0.113.${sender}` });
  expect(said).toHaveLength(20);
});

test.each([null, 'http://apps.test'])('below %s nothing is asked of anybody', (publicUrl) => {
  const ask = makePolicy(publicUrl);
  for (const method of ['GET', 'POST'])
    expect(ask('http://acme.apps.test/', CLEAR, { method })).toEqual(served(false));
  expect(ask('http://acme.apps.test/', { 'x-forwarded-proto': 'https' })).toEqual(served(false));
});
