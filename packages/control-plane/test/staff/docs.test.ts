/** The reference for people. */
import { expect, test } from 'vitest';
import { openFixture } from './fixture.ts';

test('is shown without a credential, and is complete: it loads nothing', async () => {
  const fixture = await openFixture();
  const page = await fixture.ask('/docs');
  expect(page.status).toBe(200);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  const text = await page.text();
  expect(text).toContain('href="/openapi.json"');
  expect(text).toContain('<article id="tenants.create">');
  expect(text).not.toMatch(/ src=|<link (?!rel="icon" href="data:,")/);
  const tag = page.headers.get('etag') ?? '';
  expect((await fixture.ask('/docs', { headers: { 'if-none-match': tag } })).status).toBe(304);
  expect((await fixture.ask('/docs', { method: 'HEAD' })).status).toBe(200);
  expect((await fixture.ask('/docs', { method: 'POST' })).status).toBe(405);
});

test('its document is not sent again to a reader who has it', async () => {
  const fixture = await openFixture();
  const first = await fixture.ask('/openapi.json');
  const tag = first.headers.get('etag') ?? '';
  expect([first.status, tag]).toEqual([200, expect.stringMatching(/^W\/"[\w-]{43}"$/)]);
  const again = await fixture.ask('/openapi.json', { headers: { 'if-none-match': tag } });
  expect([again.status, await again.text()]).toEqual([304, '']);
});
