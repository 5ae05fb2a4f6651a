/** The reference for people. */
import { expect, test } from 'vitest';
import { apiDocs } from '../../../api-docs/src/node.ts';
import { openFixture } from './fixture.ts';

test('is shown to anybody, shows the document, and loads nothing of another origin', async () => {
  const fixture = await openFixture({ docs: apiDocs, operations: {} });
  const page = await fixture.ask('/docs');
  expect(page.status).toBe(200);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  const text = await page.text();
  expect(text).toContain('data-url="/openapi.json"');
  expect(text).toContain('src="/docs/script.js"');
  expect(text).not.toMatch(/https?:\/\//);
  const script = await fixture.ask('/docs/script.js', { method: 'HEAD' });
  expect([script.status, script.headers.get('content-type')]).toEqual([
    200,
    'text/javascript; charset=utf-8',
  ]);
  expect((await fixture.ask('/openapi.json')).status).toBe(200);
  expect((await fixture.ask('/docs', { method: 'POST' })).status).toBe(405);
});

test('is not there without a renderer', async () => {
  const fixture = await openFixture();
  expect((await fixture.ask('/docs')).status).toBe(404);
});
