/**
 * The access of a vertical's own secret, over HTTP and a real directory: to its own scopes and its grants, as itself,
 * and to nothing of another vertical (spec 4.3, 4.7, 5.6; C-21).
 */
import { PLATFORM_SECRET_HEADER } from '@freehold/contracts';
import { type PlatformSecret, verticalSecret } from '@freehold/contracts/http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeConsentProvider } from '../../../directory/test/consent-provider.ts';
import { requestConnectUrl } from '../../../vertical-host/src/connect/request-connect-url.ts';
import { requestTenant } from '../../../vertical-host/src/connect/request-tenant.ts';
import { makeControlPlaneClient } from '../../src/client/index.ts';
import { openRealPlatform, PLATFORM_SECRET, type RealPlatformOptions } from '../support/real-platform.ts';

const controlPlaneUrl = 'https://control.example';
const FIELDWORK = await verticalSecret(PLATFORM_SECRET, 'fieldwork');
const LIBRARY = await verticalSecret(PLATFORM_SECRET, 'library');

/** Two registered verticals, and a scope of fieldwork with an address. */
async function open(options: RealPlatformOptions = {}) {
  const platform = await openRealPlatform({ connections: makeConsentProvider().options, ...options });
  onTestFinished(() => platform[Symbol.asyncDispose]());
  const client = makeControlPlaneClient(platform.clientOptions());
  const tenant = await client.tenants.create({ body: { slug: 'acme', name: 'Acme' } });
  const scope = await client.scopes.provision({
    params: { tenant: tenant.id },
    body: { slug: 'main', name: 'Main', vertical: 'fieldwork' },
  });
  await client.hostnames.bind({ body: { hostname: 'acme.localhost', tenant: tenant.id, scope: scope.id } });
  for (const slug of ['fieldwork', 'library']) await client.verticals.create({ body: { slug, name: slug } });

  const connect = (platformSecret: string, scopeId: string = scope.id) =>
    outcomeOf(
      requestConnectUrl(
        {
          ...{ controlPlaneUrl, platformSecret, tenantId: tenant.id, scopeId, provider: 'calendar' },
          createdBy: 'prn_01jd0000000000000000000001',
          subjectRef: 'team calendar',
          returnUrl: 'http://acme.localhost:8787/settings',
        },
        { fetch: platform.send },
      ),
    );
  const create = (platformSecret: string, slug = 'new', idempotencyKey?: string) =>
    outcomeOf(
      requestTenant(
        {
          ...{ controlPlaneUrl, platformSecret, slug, name: 'New' },
          ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        },
        { fetch: platform.send },
      ),
    );
  const grant = (slug: string) => client.tenantProvisioner.put({ params: { slug }, body: {} });
  const post = (headers: Record<string, string>, path = '/tenants') =>
    platform.send(
      new Request(`${controlPlaneUrl}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ slug: 'new', name: 'New' }),
      }),
    );
  return { platform, client, tenant, scope, connect, create, grant, post };
}

/** The answer, or the refusal. */
async function outcomeOf(asked: Promise<object>): Promise<Record<string, unknown>> {
  try {
    return { ...(await asked) };
  } catch (error) {
    const { status, code, reason, detail } = error as Record<string, unknown>;
    return { status, code, reason, detail };
  }
}

async function fieldsOf(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>;
}

describe('spec 4.7: the door for consent URLs', () => {
  test('one vertical is told of another’s scope exactly what it is told of one that is not there', async () => {
    const { connect } = await open();
    expect(await connect(FIELDWORK)).toMatchObject({ vertical: 'fieldwork' });
    const theirs = await connect(LIBRARY);
    expect(theirs).toMatchObject({ status: 404, code: 'not_found', reason: 'unknown_scope' });
    expect(theirs).toEqual(await connect(LIBRARY, 'scp_01jd0000000000000000000009'));
  });
});

const mac = (secret: string): string => secret.slice(secret.lastIndexOf('_') + 1);

const ANONYMOUS: readonly [string, PlatformSecret, string, string][] = [
  ['a slug of another', PLATFORM_SECRET, `fh_vrt_fieldwork_${mac(LIBRARY)}`, 'platform_secret_mismatch'],
  ['a code that was cut off', PLATFORM_SECRET, FIELDWORK.slice(0, -2), 'platform_secret_mismatch'],
  ['no code at all', PLATFORM_SECRET, 'fh_vrt_fieldwork_', 'platform_secret_mismatch'],
  ['the platform’s own secret', PLATFORM_SECRET, PLATFORM_SECRET, 'platform_secret_mismatch'],
  ['an empty secret', PLATFORM_SECRET, '', 'platform_secret_mismatch'],
  ['a secret of before the rotation', 'the one that came after it', FIELDWORK, 'platform_secret_mismatch'],
  ['its secret where none is set', undefined, FIELDWORK, 'platform_secret_unset'],
  ['its secret where an empty one is set', '', FIELDWORK, 'platform_secret_unset'],
];

describe.each(ANONYMOUS)('spec 5.6: %s', (_, platformSecret, shown, reason) => {
  test('opens no door, and nothing is written', async () => {
    const { client, connect, create, grant } = await open({ platformSecret });
    await grant('fieldwork');
    const before = await client.adminLog.list();
    for (const refused of [await connect(shown), await create(shown), await create(shown, 'new', 'key-1')]) {
      expect(refused).toMatchObject({ status: 403, code: 'forbidden', reason });
      expect(JSON.stringify(refused)).not.toContain('fh_vrt_');
    }
    expect(await client.adminLog.list()).toEqual(before);
  });
});

test('while the platform’s secret is being replaced, what follows from either opens both', async () => {
  const { connect, create, grant } = await open({
    platformSecret: ['the one that comes after', PLATFORM_SECRET],
  });
  await grant('fieldwork');
  const newer = await verticalSecret('the one that comes after', 'fieldwork');
  for (const [index, secret] of [FIELDWORK, newer].entries()) {
    expect(await connect(secret)).toMatchObject({ vertical: 'fieldwork' });
    expect(await create(secret, `new-${index}`)).toMatchObject({ created: true });
  }
});

describe('spec C-21: POST /tenants', () => {
  test('creates a tenant as the vertical that was granted it, and as no other', async () => {
    const { client, create, grant, platform } = await open();
    expect(await create(FIELDWORK)).toMatchObject({ status: 403, reason: 'not_granted' });
    await grant('fieldwork');
    expect(await create(LIBRARY)).toMatchObject({ status: 403, reason: 'not_granted' });
    const made = await create(FIELDWORK);
    expect(made).toMatchObject({ slug: 'new', name: 'New', status: 'active', created: true });
    expect(await create(FIELDWORK)).toEqual({ ...made, created: false });
    const { items } = await client.adminLog.list({ query: { action: 'tenants.create', limit: 1 } });
    expect(items).toMatchObject([
      {
        actor: { kind: 'vertical', id: 'fieldwork', name: 'fieldwork' },
        token: null,
        after: { slug: 'new' },
      },
    ]);
    await client.tenantProvisioner.delete({ params: { slug: 'fieldwork' } });
    expect(await create(FIELDWORK)).toMatchObject({ status: 403, reason: 'not_granted' });
    // The secrets are in no line of the log.
    expect(JSON.stringify([platform.lines, items])).not.toContain('fh_vrt_');
    expect(platform.lines.at(-1)?.actor).toEqual({ kind: 'vertical', id: 'fieldwork', name: 'fieldwork' });
  });

  test('goes through the pipeline of every operation: key, ETag, Location, head of the log, limit', async () => {
    const { grant, post } = await open({ rateLimit: { calls: 20, windowSeconds: 60 } });
    await grant('fieldwork');
    const headers = { [PLATFORM_SECRET_HEADER]: FIELDWORK, 'idempotency-key': 'key-1' };
    const first = await post(headers);
    expect(first.status).toBe(201);
    const { id, etag } = await fieldsOf(first);
    expect(first.headers.get('etag')).toBe(`"${etag}"`);
    expect(first.headers.get('location')).toBe(`/tenants/${id}`);
    expect(first.headers.get('x-admin-log-head')).toMatch(/^\d+:[0-9a-f]{64}$/);
    expect(first.headers.get('ratelimit')).toMatch(/r=19;/);
    const again = await post(headers);
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.headers.get('ratelimit')).toMatch(/r=18;/);
    // Each has an allowance of its own.
    const other = await post({ [PLATFORM_SECRET_HEADER]: LIBRARY });
    expect(other.status).toBe(403);
    expect(other.headers.get('ratelimit')).toMatch(/r=19;/);
  });

  test('a request with a token is judged by that alone, whatever secret comes with it', async () => {
    const { client, grant, platform, post } = await open();
    await grant('fieldwork');
    const secret = { [PLATFORM_SECRET_HEADER]: FIELDWORK };
    const wrong = await post({ ...secret, authorization: 'Bearer fh_svc_wrong' });
    expect([wrong.status, (await fieldsOf(wrong)).reason]).toEqual([401, 'token_invalid']);
    const right = await post({
      [PLATFORM_SECRET_HEADER]: 'wrong',
      authorization: `Bearer ${platform.secret}`,
    });
    expect(right.status).toBe(201);
    const { items } = await client.adminLog.list({ query: { action: 'tenants.create', limit: 1 } });
    expect(items).toMatchObject([{ actor: { kind: 'service' } }]);
  });

  test('what is no tenant is refused, and so is every other operation', async () => {
    const { create, grant, post } = await open();
    await grant('library');
    expect(await create(LIBRARY, 'Not A Slug')).toMatchObject({ status: 400, code: 'validation_failed' });
    const refused = await post({ [PLATFORM_SECRET_HEADER]: LIBRARY }, '/verticals');
    expect([refused.status, (await fieldsOf(refused)).reason]).toEqual([403, 'not_for_verticals']);
  });
});
