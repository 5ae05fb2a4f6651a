import { describe, expect, test } from 'vitest';
import type { RecordedRequest } from '../../testkit/src/oidc/fake-issuer.ts';
import { makeFixture } from '../../testkit/src/oidc/fixture.ts';
import { judgeMetadata } from './discovery.ts';
import { DOCUMENT_TTL_MS, FAILURE_TTL_MS, STALE_MAX_MS } from './lib/cached-document.ts';
import { OidcError } from './lib/errors.ts';
import { RESPONSE_BYTES_MAX } from './lib/peer-fetch.ts';

const DISCOVERY = '/.well-known/openid-configuration';
const unavailable = { code: 'issuer_unavailable', status: 503, retryable: true };
const isDiscovery = (request: RecordedRequest): boolean => request.path === DISCOVERY;
const down = (): never => {
  throw new TypeError('fetch failed');
};

describe('B-03: endpoints come from the discovery document', () => {
  test('at {issuer}/.well-known/openid-configuration, and only at the first use', async () => {
    const { rp, issuer } = await makeFixture();
    expect(issuer.requests).toEqual([]);
    const metadata = await rp.issuer.metadata();
    expect(issuer.requests[0]?.url).toBe('https://issuer.example/.well-known/openid-configuration');
    expect(metadata.authorizationEndpoint).toBe('https://issuer.example/authorize');
  });

  test('of an issuer with a path too', async () => {
    const { rp, issuer } = await makeFixture({ issuerUrl: 'https://issuer.example/realms/one' });
    await rp.issuer.metadata();
    expect(issuer.requests[0]?.url).toBe(
      'https://issuer.example/realms/one/.well-known/openid-configuration',
    );
  });
});

describe('caching', () => {
  test('many callers share one fetch, and the copy serves ten minutes', async () => {
    const { rp, issuer, clock } = await makeFixture();
    await Promise.all(Array.from({ length: 20 }, () => rp.issuer.metadata()));
    clock.nowMs += DOCUMENT_TTL_MS - 1;
    await rp.issuer.metadata();
    expect(issuer.count(DISCOVERY)).toBe(1);
    clock.nowMs += 1;
    await rp.issuer.metadata();
    expect(issuer.count(DISCOVERY)).toBe(2);
  });

  test('a failure is remembered for 30 seconds and then asked again', async () => {
    const { rp, issuer, clock } = await makeFixture();
    issuer.behaviour.intercept = down;
    await expect(rp.issuer.metadata()).rejects.toMatchObject(unavailable);
    delete issuer.behaviour.intercept;
    clock.nowMs += FAILURE_TTL_MS - 1;
    await expect(rp.issuer.metadata()).rejects.toMatchObject(unavailable);
    expect(issuer.count(DISCOVERY)).toBe(1);
    clock.nowMs += 1;
    await expect(rp.issuer.metadata()).resolves.toMatchObject({ issuer: issuer.url });
  });

  test('the last good copy serves through an outage, for a day', async () => {
    const { rp, issuer, clock } = await makeFixture();
    await rp.issuer.metadata();
    issuer.behaviour.intercept = down;
    clock.nowMs += STALE_MAX_MS - 1;
    await expect(rp.issuer.metadata()).resolves.toMatchObject({ issuer: issuer.url });
    clock.nowMs += FAILURE_TTL_MS;
    await expect(rp.issuer.metadata()).rejects.toMatchObject(unavailable);
  });

  test('a document that turned bad does not replace the last good copy', async () => {
    const { rp, issuer, clock } = await makeFixture();
    await rp.issuer.metadata();
    issuer.behaviour.metadata = { issuer: 'https://evil.example' };
    clock.nowMs += DOCUMENT_TTL_MS;
    await expect(rp.issuer.metadata()).resolves.toMatchObject({ issuer: issuer.url });
  });
});

describe('an issuer that cannot be reached is 503', () => {
  test.each([
    ['refuses connections', down],
    ['answers 500', () => new Response('oops', { status: 500 })],
    ['answers 429', () => new Response(null, { status: 429 })],
    ['breaks off its answer', () => new Response(brokenStream(), { status: 200 })],
    [
      'declares more than 1 MB',
      () => new Response('{}', { headers: { 'content-length': String(RESPONSE_BYTES_MAX + 1) } }),
    ],
  ])('because it %s', async (_, intercept) => {
    const { rp, issuer } = await makeFixture();
    issuer.behaviour.intercept = intercept;
    await expect(rp.issuer.metadata()).rejects.toMatchObject(unavailable);
  });

  test('because it sends more than 1 MB in chunks, of which no more is read', async () => {
    const { rp, issuer } = await makeFixture();
    let sent = 0;
    const chunk = new Uint8Array(64 * 1024);
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += chunk.byteLength;
        controller.enqueue(chunk);
      },
    });
    issuer.behaviour.intercept = () => new Response(endless);
    await expect(rp.issuer.metadata()).rejects.toMatchObject(unavailable);
    expect(sent).toBeLessThan(RESPONSE_BYTES_MAX + 4 * chunk.byteLength);
  });

  test.each([
    ['its answer', () => new Promise<Response>(() => {})],
    ['its body', () => new Response(silentStream())],
  ])('because %s takes more than 5 seconds', async (_, intercept) => {
    const deadlines: { ms: number; controller: AbortController }[] = [];
    const deadline = (ms: number): AbortSignal => {
      const controller = new AbortController();
      deadlines.push({ ms, controller });
      return controller.signal;
    };
    const { rp, issuer } = await makeFixture({ relyingParty: { deadline } });
    issuer.behaviour.intercept = intercept;
    const waiting = rp.issuer.metadata();
    await new Promise((resolve) => setImmediate(resolve));
    const fetching = deadlines.find(({ ms }) => ms === 5000);
    fetching?.controller.abort(new DOMException('The operation timed out', 'TimeoutError'));
    await expect(waiting).rejects.toMatchObject(unavailable);
  });

  test('a caller whose shared fetch died gives up alone, and the next one starts afresh', async () => {
    const controllers: AbortController[] = [];
    const deadline = (): AbortSignal => {
      const controller = new AbortController();
      controllers.push(controller);
      return controller.signal;
    };
    const { rp, issuer } = await makeFixture({ relyingParty: { deadline } });
    issuer.behaviour.intercept = () => new Promise<Response>(() => {});
    const waiting = rp.issuer.metadata();
    await new Promise((resolve) => setImmediate(resolve));
    controllers.at(-1)?.abort(new DOMException('The operation timed out', 'TimeoutError'));
    await expect(waiting).rejects.toMatchObject(unavailable);
    delete issuer.behaviour.intercept;
    await expect(rp.issuer.metadata()).resolves.toMatchObject({ issuer: issuer.url });
  });
});

describe('a document that cannot be used is refused', () => {
  test.each([
    ['discovery-issuer-mismatch', { issuer: 'https://evil.example' }],
    ['a trailing slash makes another issuer', { issuer: 'https://issuer.example/' }],
    ['no issuer', { issuer: undefined }],
    ['no token endpoint', { token_endpoint: undefined }],
    ['no keys', { jwks_uri: undefined }],
    ['a plain-http token endpoint', { token_endpoint: 'http://issuer.example/token' }],
    ['a loopback endpoint of an issuer that is not', { jwks_uri: 'http://127.0.0.1:9/jwks' }],
    ['an endpoint that is no URL', { authorization_endpoint: '/authorize' }],
    ['a script for an endpoint', { authorization_endpoint: 'javascript:alert(1)' }],
    ['only symmetric and absent signatures', { id_token_signing_alg_values_supported: ['HS256', 'none'] }],
  ])('%s', async (_, metadata) => {
    const { rp, issuer } = await makeFixture();
    issuer.behaviour.metadata = metadata;
    await expect(rp.issuer.metadata()).rejects.toMatchObject({ code: 'issuer_misconfigured', status: 502 });
  });

  test.each([
    ['a redirect', () => Response.redirect('https://evil.example/', 302)],
    ['404', () => new Response('{}', { status: 404 })],
    ['a page', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    ['a list', () => Response.json([])],
  ])('%s', async (_, intercept) => {
    const { rp, issuer } = await makeFixture();
    issuer.behaviour.intercept = intercept;
    await expect(rp.issuer.metadata()).rejects.toBeInstanceOf(OidcError);
    await expect(rp.issuer.metadata()).rejects.toMatchObject({ code: 'issuer_misconfigured' });
    expect(issuer.requests.filter(isDiscovery)).toHaveLength(1);
  });

  test('the mismatch is explained to the operator', () => {
    const judge = (): unknown =>
      judgeMetadata(
        {
          issuer: 'https://issuer.example/',
          authorization_endpoint: 'https://issuer.example/a',
          token_endpoint: 'https://issuer.example/t',
          jwks_uri: 'https://issuer.example/j',
        },
        { issuer: 'https://issuer.example', allowInsecure: false },
      );
    expect(judge).toThrow(expect.objectContaining({ detail: expect.stringContaining('trailing slash') }));
  });
});

test('every request to an issuer has its deadline, and no redirect is ever followed', async () => {
  const asked: [path: string, redirect: unknown, limitMs: number | undefined][] = [];
  const limits = new Map<AbortSignal, number>();
  const deadline = (ms: number): AbortSignal => {
    const { signal } = new AbortController();
    limits.set(signal, ms);
    return signal;
  };
  const { signIn, issuer } = await makeFixture({ relyingParty: { deadline } });
  issuer.behaviour.metadata = { require_pushed_authorization_requests: true };
  issuer.behaviour.intercept = ({ path }, { redirect, signal }) => {
    asked.push([path, redirect, signal == null ? undefined : limits.get(signal)]);
    return undefined;
  };
  await signIn({ user: { sub: 'alice-1' } });
  expect(asked).toEqual([
    [DISCOVERY, 'manual', 5000],
    ['/par', 'manual', 10_000],
    ['/token', 'manual', 10_000],
    ['/jwks', 'manual', 5000],
    ['/userinfo', 'manual', 10_000],
  ]);
});

test('an issuer on the loopback interface may be plain http, endpoints included', async () => {
  const { rp } = await makeFixture({ issuerUrl: 'http://localhost:9000' });
  await expect(rp.issuer.metadata()).resolves.toMatchObject({ tokenEndpoint: 'http://localhost:9000/token' });
});

function silentStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) });
}

function brokenStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) });
}
