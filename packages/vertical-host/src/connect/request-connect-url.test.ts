/** The helper that a vertical asks the platform with (spec 4.7 and 7.6; D-15, D-16). */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { type ConnectUrlOrder, ConnectUrlRequestError, requestConnectUrl } from './request-connect-url.ts';

const order: ConnectUrlOrder = {
  controlPlaneUrl: 'https://api.example.com',
  platformSecret: 'the platform secret',
  tenantId: 'tnt_01jd0000000000000000000001',
  scopeId: 'scp_01jd0000000000000000000001',
  provider: 'calendar',
  createdBy: 'prn_01jd0000000000000000000001',
  subjectRef: 'team calendar',
  returnUrl: 'https://acme.example.com/settings',
  ttlSeconds: 300,
};
const answered = {
  url: 'https://api.example.com/connect/ticket',
  expiresAt: '2026-11-21T08:15:00.000Z',
  vertical: 'fieldwork',
};

async function refusalOf(answer: () => Response | Promise<Response>): Promise<ConnectUrlRequestError> {
  const error = await requestConnectUrl(order, { fetch: async () => answer() }).catch((thrown) => thrown);
  if (error instanceof ConnectUrlRequestError) return error;
  throw new Error('it was not refused', { cause: error });
}

describe('the request', () => {
  test('D-15: carries the fields of the order and the secret in its header, and follows no redirect', async () => {
    const requests: Request[] = [];
    const fetch = async (request: Request) => {
      requests.push(request);
      return Response.json(answered);
    };
    expect(await requestConnectUrl(order, { fetch })).toEqual(answered);
    const [request] = requests;
    expect(request?.method).toBe('POST');
    expect(request?.url).toBe('https://api.example.com/internal/connections/connect-url');
    expect(request?.headers.get('x-platform-secret')).toBe('the platform secret');
    expect(request?.redirect).toBe('manual');
    const { controlPlaneUrl: _, platformSecret: __, ...body } = order;
    expect(await request?.json()).toEqual(body);
  });

  test('keeps a path that the control plane is reached under', async () => {
    const urls: string[] = [];
    const fetch = async ({ url }: Request) => {
      urls.push(url);
      return Response.json(answered);
    };
    await requestConnectUrl({ ...order, controlPlaneUrl: 'https://example.com/api/' }, { fetch });
    expect(urls).toEqual(['https://example.com/api/internal/connections/connect-url']);
  });

  test('leaves out a missing time, and passes on values that the platform will refuse', async () => {
    const bodies: unknown[] = [];
    const fetch = async (request: Request) => {
      bodies.push(((await request.json()) as { ttlSeconds?: number }).ttlSeconds);
      return Response.json(answered);
    };
    const { ttlSeconds: _, ...without } = order;
    await requestConnectUrl(without, { fetch });
    await requestConnectUrl({ ...order, ttlSeconds: 901 }, { fetch });
    expect(bodies).toEqual([undefined, 901]);
  });
});

describe('D-16: a refusal', () => {
  test('carries the status, the code, the reason and the sentence of the platform', async () => {
    const refused = new PlatformError('validation_failed', 'This provider has no consent round.', {
      reason: 'no_consent_round',
    });
    const error = await refusalOf(() => problemDocument(refused));
    expect(error).toMatchObject({
      status: 400,
      code: 'validation_failed',
      reason: 'no_consent_round',
      detail: 'This provider has no consent round.',
      message: 'This provider has no consent round.',
    });
  });

  test.each([403, 404, 409, 500, 503])('keeps the status %d, also without an explanation', async (status) => {
    const error = await refusalOf(() => new Response('<html>', { status }));
    expect(error).toMatchObject({ status, code: 'runtime_fault', reason: undefined });
  });

  test.each<[string, () => Response]>([
    ['no JSON', () => new Response('{"url":"https://secret.example')],
    ['another form', () => Response.json({ ...answered, url: 'not an address' })],
    ['nothing', () => new Response(null, { status: 204 })],
    ['a redirect', () => new Response(null, { status: 302, headers: { location: 'https://evil.example' } })],
  ])('success that means nothing is a 502: %s', async (_, answer) => {
    const error = await refusalOf(answer);
    expect(error).toMatchObject({ status: 502, code: 'runtime_fault' });
    expect(`${error.stack}${String(error.cause)}`).not.toContain('secret.example');
  });
});

describe('D-16: a control plane that cannot be reached', () => {
  test('is the very TypeError of fetch, without a status', async () => {
    const failed = new TypeError('fetch failed');
    const asked = requestConnectUrl(order, { fetch: () => Promise.reject(failed) });
    await expect(asked).rejects.toBe(failed);
    expect(failed).not.toHaveProperty('status');
  });

  test('at a port without a listener, through the real fetch', async () => {
    const asked = requestConnectUrl({ ...order, controlPlaneUrl: 'http://127.0.0.1:9' });
    await expect(asked).rejects.toBeInstanceOf(TypeError);
  });

  test('or that never answers is a TypeError as well', async () => {
    const controller = new AbortController();
    const fetch = ({ signal }: Request) =>
      new Promise<Response>((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      );
    const asked = requestConnectUrl(order, { fetch, signal: controller.signal });
    controller.abort(new Error('time is up'));
    await expect(asked).rejects.toBeInstanceOf(TypeError);
  });
});
