/** The page: its content, its policy, and that nothing of a document can leave its place. */
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { makeApiDocs } from './api-docs.ts';

const EVIL = '</title></style></script><script>alert(1)</script><img src=x onerror=alert(1)>"\'';

const operation = {
  operationId: 'order.create',
  summary: 'Open an order',
  description: 'Open an order.\n\nNeeds the permission `order.create`.',
  tags: ['order'],
  parameters: [
    { $ref: '#/components/parameters/IfMatch' },
    { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 } },
  ],
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: {
          type: 'object',
          properties: {
            title: { type: 'string', maxLength: 200, description: 'In a line' },
            lines: { type: 'array', items: { type: 'object', properties: { count: { type: 'integer' } } } },
            kind: { enum: ['repair', 'visit'] },
          },
          required: ['title'],
        },
      },
    },
  },
  responses: {
    201: {
      description: 'Done.',
      headers: { ETag: {} },
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Order' } } },
    },
    404: { $ref: '#/components/responses/Problem404' },
  },
};

const document = {
  openapi: '3.1.0',
  info: { title: 'Orders', version: '1.2.3', description: 'The trade.' },
  security: [{ session: [] }],
  tags: [{ name: 'order', description: 'Work orders.' }],
  paths: {
    '/orders': { post: operation },
    '/open': {
      get: {
        operationId: 'open.get',
        summary: 'Look',
        security: [],
        responses: { 200: { description: 'Done.' } },
      },
    },
  },
  components: {
    parameters: { IfMatch: { name: 'If-Match', in: 'header', schema: { type: 'string' } } },
    responses: { Problem404: { description: '`not_found`: Not found.' } },
    schemas: {
      Order: {
        type: 'object',
        properties: { next: { anyOf: [{ $ref: '#/components/schemas/Order' }, { type: 'null' }] } },
      },
    },
  },
};

function ask(shown: object = document, headers: Record<string, string> = {}) {
  const answer = makeApiDocs(() => ({ document: shown, documentUrl: '/api/openapi.json' }));
  return answer(new Request('https://app.test/api/docs', { headers }));
}

describe('the page', () => {
  test('shows each operation with its address, fields, answers and failures, under an anchor of its own', async () => {
    const html = await (await ask()).text();
    const text = html.replaceAll(/<[^>]+>/g, '').replaceAll('&#34;', '"');
    for (const part of [
      'POST /orders',
      'Needs the permission order.create.',
      'title string required at most 200 charactersIn a line',
      'count integer',
      'kind "repair", "visit"',
      'limit integer 1 to 200, default 50',
      'If-Match string',
      '201 Done. Headers: ETag',
      'next Order or null',
      'Needs no credential.',
      '404 not_found: Not found.',
    ])
      expect(text).toContain(part);
    expect(html).toContain('href="/api/openapi.json"');
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const links = [...html.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(ids).toEqual(expect.arrayContaining([...new Set(links)]));
  });

  test('allows its own style and script by their digests, and loads nothing', async () => {
    const response = await ask();
    const policy = response.headers.get('content-security-policy') ?? '';
    const html = await response.text();
    for (const element of ['style', 'script']) {
      const [, text = ''] = new RegExp(`<${element}>([^]*?)</${element}>`).exec(html) ?? [];
      const digest = createHash('sha256').update(text).digest('base64');
      expect(policy).toContain(`${element}-src 'sha256-${digest}'`);
    }
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|\*|unsafe/);
    expect(html).not.toMatch(/https?:\/\/| style=| on[a-z]+=/);
  });

  test('holds what a document says as text', async () => {
    const schemas = { [EVIL]: { type: 'object', properties: { [EVIL]: { description: EVIL } } } };
    const html = await (
      await ask({
        info: { title: EVIL, version: EVIL, description: EVIL },
        tags: [{ name: EVIL, description: EVIL }],
        paths: {
          [EVIL]: {
            get: { ...operation, operationId: EVIL, summary: EVIL, description: EVIL, tags: [EVIL] },
          },
        },
        components: { schemas },
      })
    ).text();
    expect(html).not.toContain('<script>alert');
    expect(html).not.toContain('<img');
    expect(html.match(/<script/g)).toHaveLength(1);
  });

  test('is sent by gzip to a reader that takes it, and not again to one that has it', async () => {
    const plain = await ask();
    const packed = await ask(document, { 'accept-encoding': 'gzip' });
    expect([plain, packed].map(({ headers }) => headers.get('content-encoding'))).toEqual([null, 'gzip']);
    expect(packed.headers.get('vary')).toContain('accept-encoding');
    expect(gunzipSync(await packed.arrayBuffer()).toString()).toBe(await plain.text());
    const tag = packed.headers.get('etag') ?? '';
    const again = await ask(document, { 'if-none-match': tag });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });
});
