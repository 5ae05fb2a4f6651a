import { PlatformError, PROBLEMS, toProblem } from '@freehold/contracts';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { mountProblemDocs } from './mount-problem-docs.ts';

function docs(): Hono {
  const app = new Hono();
  mountProblemDocs(app);
  return app;
}

test('the type of every problem is a page that names its code and status', async () => {
  for (const [code, { status, title }] of Object.entries(PROBLEMS)) {
    const { type } = toProblem(new PlatformError(code as keyof typeof PROBLEMS, 'x'));
    const response = await docs().request(type);
    const html = await response.text();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    for (const part of [code, String(status), title]) expect(html).toContain(part);
  }
});

test.each(['nonsense', 'toString', '__proto__', '%3Cscript%3E', '%ff'])(
  '/problems/%s is not there, and is not echoed',
  async (code) => {
    const response = await docs().request(`/problems/${code}`);
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain('script');
  },
);

test('the index links to every page, and nothing may run on any of them', async () => {
  const response = await docs().request('/problems');
  const html = await response.text();
  for (const code of Object.keys(PROBLEMS)) expect(html).toContain(`href="/problems/${code}"`);
  const policy = response.headers.get('content-security-policy');
  expect(policy).toBe("default-src 'none'; base-uri 'none'; frame-ancestors 'none'");
});
