/** Where strangers are counted, the document says so; elsewhere it does not. */
import type { Part } from '@freehold/operations/openapi';
import { expect, test } from 'vitest';
import { sampleOperations } from '../../test/support/sample-operations.ts';
import { openApiDocument } from './document.ts';

const { paths, components } = openApiDocument(sampleOperations);

interface Response {
  readonly $ref?: string;
  readonly headers?: Part;
  readonly content?: Part;
}

function responsesAt(path: string): Readonly<Record<string, Response>>[] {
  return Object.values(paths[path] ?? {}).map(
    ({ responses }) => responses as Readonly<Record<string, Response>>,
  );
}

const resolved = (response: Response | undefined): Response | undefined =>
  response?.$ref === undefined
    ? response
    : (components.responses[response.$ref.split('/').at(-1) ?? ''] as Response);

const COUNTED = [
  '/docs',
  '/openapi.json',
  '/api/auth/login',
  '/api/auth/callback',
  '/api/auth/logout',
  '/auth/login',
  '/auth/logout',
  '/device',
  '/oauth/authorize',
  '/oauth/device_authorization',
  '/oauth/revoke',
  '/oauth/token',
];

test.each([
  ...COUNTED,
  '/auth/me',
  '/api/auth/backchannel-logout',
  '/internal/connections/connect-url',
  '/mcp',
])('%s can answer 429, and says when to come again', (path) => {
  const found = responsesAt(path);
  expect(found.length).toBeGreaterThan(0);
  for (const responses of found) {
    const { headers = {} } = resolved(responses[429]) ?? {};
    expect(Object.keys(headers).sort()).toEqual([
      'RateLimit',
      'RateLimit-Policy',
      'Retry-After',
      'X-Request-Id',
    ]);
  }
});

test.each(COUNTED)('every answer of %s says where a stranger stands', (path) => {
  for (const responses of responsesAt(path))
    for (const [status, response] of Object.entries(responses))
      expect([status, Object.keys(resolved(response)?.headers ?? {})]).toEqual([
        status,
        expect.arrayContaining(['RateLimit', 'RateLimit-Policy']),
      ]);
});

test('programs read a refusal in the words of OAuth, browsers on a page', () => {
  for (const path of ['/oauth/token', '/oauth/device_authorization', '/oauth/revoke'])
    expect(Object.keys(responsesAt(path)[0]?.[429]?.content ?? {})).toEqual(['application/json']);
  expect(Object.keys(responsesAt('/device')[0]?.[429]?.content ?? {})).toContain('text/html');
});

test.each(['/healthz', '/readyz', '/problems/{code}', '/', '/.well-known/oauth-authorization-server'])(
  '%s is never refused',
  (path) => {
    const found = responsesAt(path);
    expect(found.length).toBeGreaterThan(0);
    for (const responses of found) expect(responses).not.toHaveProperty('429');
  },
);
