/** The page and its script: what they answer, and that neither asks anything of another origin. */
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { makeApiDocs, type ScriptFile } from './api-docs.ts';
import { apiDocs } from './node.ts';

const page = { title: 'Orders', documentUrl: '/api/openapi.json', scriptUrl: '/api/docs/script.js' };
const encoder = new TextEncoder();
const file: ScriptFile = { bytes: encoder.encode('long'), gzipped: encoder.encode('short'), etag: '"v1"' };
const docs = makeApiDocs(async () => file);
const ask = (headers: Record<string, string> = {}) =>
  docs.script(new Request('https://app.test/api/docs/script.js', { headers }));

test('the page names its document and its script, and may load nothing of another origin', async () => {
  const response = docs.page(page);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const policy = response.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/);
  const html = await response.text();
  expect(html).toContain('data-url="/api/openapi.json"');
  expect(html).toContain('<script src="/api/docs/script.js">');
  expect(html).not.toMatch(/https?:\/\//);
});

test('what the page is told cannot leave its place', async () => {
  const html = await docs
    .page({ ...page, title: '</title><script>x</script>', documentUrl: '"><img>' })
    .text();
  expect(html).not.toContain('<script>x');
  expect(html).not.toContain('<img>');
});

describe('the script', () => {
  test.each([
    ['gzip', 'short'],
    ['br, gzip;q=0.5', 'short'],
    ['*', 'short'],
    ['gzip;q=0', 'long'],
    ['gzip; q=0.000', 'long'],
    ['br', 'long'],
    ['', 'long'],
  ])('to who takes "%s" is sent %s', async (accepted, expected) => {
    const response = await ask({ 'accept-encoding': accepted });
    expect(response.headers.get('content-encoding')).toBe(expected === 'short' ? 'gzip' : null);
    expect(await response.text()).toBe(expected);
  });

  test('is not sent again to who has it', async () => {
    const response = await ask({ 'if-none-match': 'W/"v0", "v1"' });
    expect([response.status, await response.text()]).toEqual([304, '']);
    expect((await ask({ 'if-none-match': '"v0"' })).status).toBe(200);
  });

  test('is read again after reading failed, and once after it did not', async () => {
    let reads = 0;
    const flaky = makeApiDocs(async () => {
      reads += 1;
      if (reads === 1) throw new Error('The file cannot be read.');
      return file;
    });
    const request = new Request('https://app.test/');
    await expect(flaky.script(request)).rejects.toThrow('cannot be read');
    await Promise.all([flaky.script(request), flaky.script(request)]);
    expect(reads).toBe(2);
  });

  test('is the installed renderer, packed without loss', async () => {
    const whole = await (await apiDocs.script(new Request('https://app.test/'))).text();
    const packed = await apiDocs.script(
      new Request('https://app.test/', { headers: { 'accept-encoding': 'gzip' } }),
    );
    expect(gunzipSync(await packed.arrayBuffer()).toString()).toBe(whole);
    expect(whole).toContain('createApiReference');
  });
});
