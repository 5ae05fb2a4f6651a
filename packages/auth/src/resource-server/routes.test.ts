/** The metadata of protected resources (RFC 9728), over HTTP. */
import { PlatformError, problemSchema } from '@freehold/contracts';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import {
  mountProtectedResource,
  type ProtectedResource,
  protectedResourceMetadata,
  protectedResourceMetadataUrl,
} from './routes.ts';

const ISSUER = 'https://issuer.example';
const ROOT = { resource: 'https://app.example', authorizationServers: [ISSUER] };
const MCP = { resource: 'https://app.example/api/mcp', authorizationServers: [ISSUER] };
const WELL_KNOWN = '/.well-known/oauth-protected-resource';

function appOf(resources: ProtectedResource | readonly ProtectedResource[] | null) {
  const app = new Hono();
  mountProtectedResource(app, { resource: () => resources });
  app.all('*', (c) => c.text('the application', 418));
  return app;
}

describe('the document', () => {
  test('has the given values, and says that tokens come in the header only', () => {
    expect(
      protectedResourceMetadata({
        ...MCP,
        scopesSupported: ['orders:read'],
        resourceName: 'Pipes',
        resourceDocumentation: 'https://app.example/docs',
      }),
    ).toEqual({
      resource: 'https://app.example/api/mcp',
      authorization_servers: [ISSUER],
      bearer_methods_supported: ['header'],
      scopes_supported: ['orders:read'],
      resource_name: 'Pipes',
      resource_documentation: 'https://app.example/docs',
    });
  });

  test('leaves out absent values, empty lists included', () => {
    expect(protectedResourceMetadata({ ...ROOT, authorizationServers: [], scopesSupported: [] })).toEqual({
      resource: 'https://app.example',
      bearer_methods_supported: ['header'],
    });
  });

  test.each([
    'app.example',
    '/api/mcp',
    'https://app.example/#',
    'https://app.example/#x',
    'https://app.example/?',
    'https://app.example/?tenant=a',
    'https://user@app.example/',
    'urn:example:app',
    'javascript:alert(1)',
    '',
  ])('of %j there is none', (resource) => {
    expect(() => protectedResourceMetadata({ resource, authorizationServers: [] })).toThrow(TypeError);
    expect(() => protectedResourceMetadataUrl(resource)).toThrow(TypeError);
  });

  test.each([
    ['https://app.example', `https://app.example${WELL_KNOWN}`],
    ['https://app.example/', `https://app.example${WELL_KNOWN}`],
    ['https://app.example/api/mcp', `https://app.example${WELL_KNOWN}/api/mcp`],
    ['https://app.example/api/mcp/', `https://app.example${WELL_KNOWN}/api/mcp/`],
    ['http://localhost:8080/mcp', `http://localhost:8080${WELL_KNOWN}/mcp`],
  ])('of %s is at %s', (resource, url) => {
    expect(protectedResourceMetadataUrl(resource)).toBe(url);
  });
});

describe('the mount', () => {
  test('answers the document that belongs to the address, to pages of any origin', async () => {
    const app = appOf([ROOT, MCP]);
    for (const [path, resource] of [
      [WELL_KNOWN, ROOT],
      [`${WELL_KNOWN}/`, ROOT],
      [`${WELL_KNOWN}/api/mcp`, MCP],
    ] as const) {
      const answer = await app.request(path, { headers: { origin: 'https://inspector.example' } });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      expect(answer.headers.get('cache-control')).toBe('public, max-age=60');
      expect(await answer.json()).toEqual(protectedResourceMetadata(resource));
    }
  });

  test.each(['/api', '/api/mcp/', '/api/mcp/x', '/other', '//api/mcp', '/api/mcp%2f', '/API/mcp'])(
    'describes nothing at the address of %s, which is no resource here',
    async (path) => {
      const answer = await appOf([ROOT, MCP]).request(`${WELL_KNOWN}${path}`);
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([404, '*']);
      expect(problemSchema.parse(await answer.json()).code).toBe('not_found');
    },
  );

  test('a resource with a path is not described at the root, where its name would not match', async () => {
    expect((await appOf(MCP).request(WELL_KNOWN)).status).toBe(404);
  });

  test.each([[null], [[]]])('an instance that takes no tokens (%j) has none: 404', async (resources) => {
    const answer = await appOf(resources).request(WELL_KNOWN);
    expect(answer.status).toBe(404);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('is read anew for every request, so that a change takes effect without a restart', async () => {
    let resources: ProtectedResource | null = null;
    const app = new Hono();
    mountProtectedResource(app, { resource: async () => resources });
    expect((await app.request(WELL_KNOWN)).status).toBe(404);
    resources = ROOT;
    expect((await app.request(WELL_KNOWN)).status).toBe(200);
  });

  test('a page may send its own headers', async () => {
    const answer = await appOf(ROOT).request(WELL_KNOWN, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://inspector.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'mcp-protocol-version',
      },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('access-control-allow-methods')).toBe('GET, HEAD');
    expect(answer.headers.get('access-control-allow-headers')).toBe('*');
  });

  test('HEAD is answered like GET without the document; other methods are refused', async () => {
    const head = await appOf(ROOT).request(WELL_KNOWN, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const post = await appOf(ROOT).request(WELL_KNOWN, { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  test('leaves every other address to the application, and its failures too', async () => {
    const app = appOf(ROOT);
    for (const path of ['/', '/.well-known/oauth-authorization-server', `${WELL_KNOWN}s`])
      expect((await app.request(path)).status).toBe(418);
    const failing = new Hono();
    const thrown = new PlatformError('unavailable', 'The directory does not answer.');
    mountProtectedResource(failing, { resource: () => Promise.reject(thrown) });
    failing.onError((error) => new Response(String(error === thrown), { status: 503 }));
    const answer = await failing.request(WELL_KNOWN);
    expect([answer.status, await answer.text()]).toEqual([503, 'true']);
  });
});
