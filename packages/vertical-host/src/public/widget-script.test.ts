import { createHash } from 'node:crypto';
import { problemSchema } from '@freehold/contracts';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { mountPublicSurface } from './mount-public-surface.ts';
import { mountWidgetScript } from './widget-script.ts';

const path = '/embed/booking.js';
const source = "document.body.append('Bestill nå')";

function mount(earlier: readonly string[] = []) {
  const app = new Hono();
  return { app, ...mountWidgetScript(app, { path, source, earlier }) };
}

describe('the script of a widget', () => {
  test('is served to any page, to run and to read, and is taken for nothing but a script', async () => {
    const { app } = mount();
    const response = await app.request(path);
    expect([response.status, await response.text()]).toEqual([200, source]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=300',
    });
    expect(response.headers.has('set-cookie')).toBe(false);
  });

  test('has an integrity that a browser arrives at as well', async () => {
    const { app, src, integrity } = mount();
    const bytes = new Uint8Array(await (await app.request(src)).arrayBuffer());
    expect(integrity).toBe(`sha384-${createHash('sha384').update(bytes).digest('base64')}`);
  });

  test('is under its own version for good, and so is an earlier one', async () => {
    const before = mount();
    const earlier = source;
    const app = new Hono();
    const now = mountWidgetScript(app, { path, source: 'let next;', earlier: [earlier] });
    expect(now.src).not.toBe(before.src);
    const pinned = await app.request(before.src);
    expect([await pinned.text(), pinned.headers.get('cache-control')]).toEqual([
      earlier,
      'public, max-age=31536000, immutable',
    ]);
    expect(await (await app.request(now.src)).text()).toBe('let next;');
    expect(await (await app.request(path)).text()).toBe('let next;');
  });

  test.each(['', 'x', '0'.repeat(24), '__proto__'])('of an unknown version %j is 404', async (version) => {
    const { app } = mount();
    const response = await app.request(`${path}?v=${version}`);
    expect(problemSchema.parse(await response.json()).code).toBe('not_found');
    expect([response.status, response.headers.get('cache-control')]).toEqual([404, 'no-store']);
  });

  test('is not sent again to a page that has it', async () => {
    const { app } = mount(['old']);
    const etag = (await app.request(path)).headers.get('etag') ?? '';
    const same = await app.request(path, { headers: { 'if-none-match': etag } });
    expect([same.status, await same.text(), same.headers.get('etag')]).toEqual([304, '', etag]);
    expect(same.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect((await app.request(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  });

  test('answers HEAD, and 405 to what would change it', async () => {
    const { app } = mount();
    const head = await app.request(path, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const post = await app.request(path, { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  test('is there for a page that the surface beside it would refuse', async () => {
    const { app } = mount();
    mountPublicSurface(app, {
      service: 'booking',
      basePath: '/public',
      resolveActor: () => null,
      routes: () => undefined,
    });
    expect((await app.request(path)).status).toBe(200);
    expect((await app.request('/public/x')).status).toBe(403);
  });
});
