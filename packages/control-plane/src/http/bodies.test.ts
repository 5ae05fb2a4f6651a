/** A body as a form: `verticals.deploy` over HTTP, on the real host administration. */
import { type Problem, problemSchema } from '@freehold/contracts';
import type { RuntimeModule } from '@freehold/directory';
import { adminOperations } from '@freehold/directory/declarations';
import { describe, expect, test } from 'vitest';
import { expectDocumented } from '../../test/support/conformance.ts';
import { openRealPlatform } from '../../test/support/real-platform.ts';
import { openApiDocument } from '../openapi/document.ts';

const { bytesMax } = adminOperations['verticals.deploy'].form;

const MANIFEST = {
  slug: 'app',
  name: 'App',
  version: '1.0.0',
  permissions: { 'order.read': 'Read orders' },
  roles: { owner: { name: 'Owner', permissions: ['order.read'] } },
  ownerRole: 'owner',
  entities: {},
  env: {},
};

interface FormParts {
  readonly meta?: unknown;
  readonly files?: readonly (readonly [name: string, bytes: string | Uint8Array<ArrayBuffer>])[];
}

function formOf({
  meta = { manifest: MANIFEST },
  files = [['index.js', 'export default 1']],
}: FormParts = {}) {
  const form = new FormData();
  form.set('meta', typeof meta === 'string' ? meta : JSON.stringify(meta));
  for (const [name, bytes] of files)
    form.append('file', new File([bytes], name, { type: 'application/javascript+module' }));
  return form;
}

async function openApp({ runs = true } = {}) {
  const uploaded: { script: string; modules: readonly RuntimeModule[] }[] = [];
  const runtime = {
    upload: async (upload: (typeof uploaded)[number]) => void uploaded.push(upload),
    serve: async () => undefined,
    move: async () => ({ failure: null }),
    modules: async () => [],
    discard: async () => ({ files: 0, bytes: 0 }),
    settingsChanged: async () => undefined,
  };
  const platform = await openRealPlatform(runs ? { runtime } : {});
  const call = (path: string, init: RequestInit = {}, token = platform.secret) =>
    platform.send(
      new Request(`https://control.example${path}`, {
        ...init,
        headers: { ...init.headers, authorization: `Bearer ${token}` },
      }),
    );
  const post = (path: string, body: unknown) =>
    call(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await post('/verticals', { slug: 'app', name: 'App' });
  const versions = async () => bodyOf(await call('/verticals/app/versions'));
  return {
    platform,
    uploaded,
    post,
    call,
    versions,
    deploy: (body: FormData | string, headers: Record<string, string> = {}) =>
      call('/verticals/app/deploy', { method: 'POST', body, headers }),
    [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
  };
}

async function bodyOf(response: Response): Promise<unknown> {
  return response.json();
}

/** The problem of a refusal, which is one that is documented. */
async function refused(response: Response, status: number): Promise<Problem> {
  const problem = problemSchema.parse(await response.clone().json());
  expect(response.status, problem.detail).toBe(status);
  await expectDocumented(adminOperations['verticals.deploy'], response);
  return problem;
}

describe('a deployment as a form (C-13)', () => {
  test('registers the version and uploads its files, whatever directories and bytes they have', async () => {
    await using app = await openApp();
    // Larger than JSON may be here, and more bytes than a call has arguments.
    const wasm = Uint8Array.from({ length: 1_500_000 }, (_, index) => index % 251);
    const response = await app.deploy(
      formOf({
        files: [
          ['index.js', 'export default 1'],
          ['lib/app.wasm', wasm],
        ],
      }),
    );
    expect(response.status, await response.clone().text()).toBe(201);
    expect(await response.json()).toMatchObject({ version: { version: '1.0.0', status: 'pending' } });
    const [upload] = app.uploaded;
    expect(upload?.script).toBe('app--1.0.0');
    expect(upload?.modules.map(({ name, mediaType }) => [name, mediaType])).toEqual([
      ['index.js', 'application/javascript+module'],
      ['lib/app.wasm', 'application/javascript+module'],
    ]);
    expect(Buffer.from(upload?.modules[1]?.bytes ?? []).equals(wasm)).toBe(true);
    expect(app.platform.incidents).toEqual([]);
  });

  test('is the same deployment as the JSON that it stands for', async () => {
    await using app = await openApp();
    expect((await app.deploy(formOf())).status).toBe(201);
    const modules = [
      { name: 'index.js', mediaType: 'application/javascript+module', base64: btoa('export default 1') },
    ];
    expect((await app.post('/verticals/app/deploy', { manifest: MANIFEST, modules })).status).toBe(200);
    expect(app.uploaded).toHaveLength(1);
  });

  test('without a runtime is refused before anything is written', async () => {
    await using app = await openApp({ runs: false });
    expect(await refused(await app.deploy(formOf()), 501)).toMatchObject({
      code: 'unsupported',
      reason: 'no_runtime',
    });
    expect(await app.versions()).toMatchObject({ items: [] });
    expect(await bodyOf(await app.call('/admin-log?action=verticals.deploy'))).toMatchObject({ items: [] });
  });

  test('is judged like the JSON, and refused where it is no form, or not of these fields', async () => {
    await using app = await openApp();
    const field = formOf();
    field.append('note', 'a text');
    const twice = formOf();
    twice.append('meta', '{}');
    const asFile = new FormData();
    asFile.set('meta', new File(['{}'], 'meta.json'));
    for (const [body, reason] of [
      [field, 'form_fields'],
      [twice, 'form_fields'],
      [asFile, 'form_fields'],
      [formOf({ meta: { manifest: MANIFEST, modules: [] } }), 'form_fields'],
      [formOf({ meta: '{' }), 'body_not_json'],
      [formOf({ meta: '[]' }), 'body_not_object'],
      [formOf({ meta: '{"__proto__":{}}' }), 'body_reserved_name'],
      [formOf({ meta: { manifest: MANIFEST, promot: true } }), undefined],
      [formOf({ files: [] }), undefined],
      [formOf({ files: [['../index.js', '1']] }), undefined],
    ] as const)
      expect((await refused(await app.deploy(body), 400)).reason).toBe(reason);
    const cut = await app.deploy('--b\r\nContent-Disposition: form-data; name="meta"\r\n\r\n{', {
      'content-type': 'multipart/form-data; boundary=b',
    });
    expect((await refused(cut, 400)).reason).toBe('form_malformed');
    const unnamed = await app.deploy('--b--', { 'content-type': 'multipart/form-data' });
    expect((await refused(unnamed, 400)).reason).toBe('form_malformed');
    expect(await app.versions()).toMatchObject({ items: [] });
    expect(app.platform.incidents).toEqual([]);
  });

  test('is refused by its announced length before a byte is read, and by what comes once it is too much', async () => {
    await using app = await openApp();
    let pulled = 0;
    const endless = () =>
      new ReadableStream<Uint8Array>(
        {
          pull: (controller) => {
            pulled += 1;
            controller.enqueue(new Uint8Array(1024 * 1024));
          },
        },
        { highWaterMark: 0 },
      );
    const type = { 'content-type': 'multipart/form-data; boundary=b' };
    const send = (headers: Record<string, string>) =>
      app.call('/verticals/app/deploy', {
        method: 'POST',
        headers: { ...type, ...headers },
        body: endless(),
        duplex: 'half',
      } as RequestInit);
    await refused(await send({ 'content-length': String(bytesMax + 1) }), 413);
    expect(pulled).toBe(0);
    await refused(await send({}), 413);
    expect(pulled).toBe(bytesMax / (1024 * 1024) + 1);
  });

  test('under another media type, or compressed, is refused with the ones that are taken', async () => {
    await using app = await openApp();
    const form = await app.deploy('a=b', { 'content-type': 'application/x-www-form-urlencoded' });
    expect(form.headers.get('accept')).toBe('application/json, multipart/form-data');
    await refused(form, 415);
    const zipped = await app.deploy(formOf(), { 'content-encoding': 'gzip' });
    await refused(zipped, 415);
  });

  test('of a stranger is not read', async () => {
    await using app = await openApp();
    const response = await app.call(
      '/verticals/app/deploy',
      { method: 'POST', body: 'anything', headers: { 'content-type': 'multipart/form-data' } },
      'fh_svc_stranger',
    );
    await refused(response, 401);
  });

  test('is no way into an operation that takes no form', async () => {
    await using app = await openApp();
    const response = await app.call('/verticals', { method: 'POST', body: formOf() });
    expect(response.status).toBe(415);
  });

  test('is described beside the JSON, by the same schemas (C-32)', () => {
    const { paths } = openApiDocument(adminOperations);
    const body = paths['/verticals/{slug}/deploy']?.post?.requestBody;
    expect(body).toMatchObject({
      content: {
        'application/json': {},
        'multipart/form-data': {
          schema: {
            properties: {
              meta: { properties: { manifest: expect.anything() } },
              file: { type: 'array', minItems: 1 },
            },
            required: ['meta', 'file'],
          },
        },
      },
    });
    expect(body).not.toHaveProperty([
      'content',
      'multipart/form-data',
      'schema',
      'properties',
      'meta',
      'properties',
      'modules',
    ]);
  });
});
