/** The reference for people. */
import { expect, test } from 'vitest';
import { apiDocs } from '../../../api-docs/src/node.ts';
import { openHouse } from './house.ts';

test('is shown to anybody, shows the document, and loads nothing of another origin', async () => {
  const house = await openHouse({ docs: apiDocs, operations: {} });
  const page = await house.ask('/docs');
  expect(page.status).toBe(200);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  const text = await page.text();
  expect(text).toContain('data-url="/openapi.json"');
  expect(text).toContain('src="/docs/script.js"');
  expect(text).not.toMatch(/https?:\/\//);
  const script = await house.ask('/docs/script.js', { method: 'HEAD' });
  expect([script.status, script.headers.get('content-type')]).toEqual([
    200,
    'text/javascript; charset=utf-8',
  ]);
  expect((await house.ask('/openapi.json')).status).toBe(200);
  expect((await house.ask('/docs', { method: 'POST' })).status).toBe(405);
});

test('is not there where nobody brings a renderer', async () => {
  const house = await openHouse();
  expect((await house.ask('/docs')).status).toBe(404);
});
