/** Deploying over HTTP: its events, and the client that sends the form and follows them, over real sockets. */
import { randomBytes } from 'node:crypto';
import { PlatformError, problemSchema } from '@freehold/contracts';
import type { Deployment, DeployStep } from '@freehold/directory/declarations';
import { adminOperations, MODULES_MAX } from '@freehold/directory/declarations';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { makeMemoryRuntime } from '../../directory/test/memory-runtime.ts';
import { manifestOf } from '../../directory/test/registry.ts';
import { listen } from '../../vertical-host/test/mcp/listen.ts';
import {
  type ClientOptions,
  ConnectionBroken,
  type FormFile,
  makeControlPlaneClient,
} from '../src/client/index.ts';
import { openApiDocument } from '../src/openapi/document.ts';
import { expectDocumented } from './support/conformance.ts';
import { openRealPlatform } from './support/real-platform.ts';

const deployOperation = adminOperations['verticals.deploy'];
const { bytesMax } = deployOperation.form;
const TYPE = 'application/javascript+module';

const moduleOf = (name: string, content: FormFile['content'] = 'export default 1'): FormFile => ({
  name,
  mediaType: TYPE,
  content,
});

/** The bytes of a buffer, as a form takes them. */
const bytesOf = (length: number) => new Uint8Array(randomBytes(length));

async function openApp({ runs = true } = {}) {
  const runtime = makeMemoryRuntime();
  const platform = await openRealPlatform(runs ? { runtime } : {});
  const server = await listen(platform.send);
  const requests: Request[] = [];
  const clientWith = (more: Partial<ClientOptions> = {}) =>
    makeControlPlaneClient({
      baseUrl: server.origin,
      token: platform.secret,
      fetch: (request) => {
        requests.push(request);
        return fetch(request);
      },
      sleep: async () => undefined,
      ...more,
    });
  const client = clientWith();
  await client.verticals.create({ body: { slug: 'app', name: 'App' } });
  requests.length = 0;
  const input = (files: readonly FormFile[] = [moduleOf('index.js')], body: object = {}) => ({
    params: { slug: 'app' },
    body: { manifest: manifestOf('app', '1.0.0'), admit: true, promote: true, ...body },
    files,
  });
  const outcomes = async () =>
    (await client.adminLog.list({ query: { action: 'verticals.deploy' } })).items
      .map(({ outcome }) => outcome)
      .reverse();
  /** The same over HTTP, without the client. */
  const post = (headers: Record<string, string> = {}, body: object = {}) =>
    platform.send(
      new Request('https://control.example/verticals/app/deploy', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${platform.secret}`,
          'content-type': 'application/json',
          accept: 'text/event-stream',
          ...headers,
        },
        body: JSON.stringify({
          manifest: manifestOf('app', '1.0.0'),
          modules: [{ name: 'index.js', mediaType: TYPE, base64: btoa('export default 1') }],
          admit: true,
          promote: true,
          ...body,
        }),
      }),
    );
  return {
    runtime,
    platform,
    client,
    clientWith,
    requests,
    input,
    outcomes,
    post,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await platform[Symbol.asyncDispose]();
    },
  };
}

interface Heard {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: unknown;
}

const eventsIn = (text: string): Heard[] =>
  [...text.matchAll(/(?:^id: (.*)\n)?^event: (.*)\ndata: (.*)\n\n/gm)].map(
    ([, id, event = '', data = '']) => ({ id, event, data: JSON.parse(data) }),
  );

describe('C-13: a deployment answers events to a caller that accepts them', () => {
  test('a step each, and at the end the plain answer with the head of the log', async () => {
    await using app = await openApp();
    const response = await app.post({ 'idempotency-key': '"one"' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('x-admin-log-head')).toMatch(/^\d+:[0-9a-f]{64}$/);
    const text = await response.clone().text();
    await expectDocumented(deployOperation, response);
    const events = eventsIn(text);
    expect(events.map(({ event }) => event).filter((each) => each !== 'progress')).toEqual(['done']);
    expect(new Set(events.slice(0, -1).map(({ data }) => (data as DeployStep).step))).toEqual(
      new Set(['registered', 'uploading', 'uploaded', 'admitted', 'serving']),
    );
    const plain = await app.post({ 'idempotency-key': '"one"', accept: 'application/json' });
    expect(plain.status).toBe(201);
    expect(plain.headers.get('idempotency-replayed')).toBe('true');
    expect(events.at(-1)?.data).toEqual(await plain.json());
    expect(events.at(-1)?.id).toBe(plain.headers.get('x-admin-log-head'));

    const again = await app.post({ 'idempotency-key': '"one"' });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(eventsIn(await again.text())).toEqual(events.slice(-1));
  });

  test('what is refused before it begins has its own status and is a problem', async () => {
    await using app = await openApp();
    for (const [status, headers, body] of [
      [400, {}, { modules: [] }],
      [401, { authorization: 'Bearer fh_svc_stranger' }, {}],
      [409, {}, { admit: false }],
      [415, { 'content-type': 'text/plain' }, {}],
      [
        413,
        { 'content-length': String(bytesMax + 1), 'content-type': 'multipart/form-data; boundary=b' },
        {},
      ],
    ] as const) {
      const response = await app.post(headers, body);
      expect(response.status).toBe(status);
      await expectDocumented(deployOperation, response);
    }
    expect(await app.outcomes()).toEqual([]);
    await using bare = await openApp({ runs: false });
    const response = await bare.post();
    expect(response.status).toBe(501);
    expect(problemSchema.parse(await response.json()).reason).toBe('no_runtime');
  });

  test('a failure in the middle is an event with the problem', async () => {
    await using app = await openApp();
    app.runtime.before = () =>
      Promise.reject(new PlatformError('validation_failed', 'It does not compile.', { reason: 'syntax' }));
    const response = await app.post({ 'x-request-id': 'my-request' });
    const text = await response.clone().text();
    await expectDocumented(deployOperation, response);
    const last = eventsIn(text).at(-1);
    expect(last).toMatchObject({
      event: 'failed',
      id: undefined,
      data: { status: 400, reason: 'syntax', requestId: expect.stringMatching(/^(?!my-request)./) },
    });
    expect(await app.outcomes()).toEqual(['intent', 'failed']);
  });

  test('a caller that disconnects in the middle stops nothing', async () => {
    await using app = await openApp();
    const gate = Promise.withResolvers<void>();
    app.runtime.before = () => gate.promise;
    const response = await app.post();
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.cancel();
    gate.resolve();
    await expect.poll(app.outcomes).toEqual(['intent', 'done']);
    expect(app.runtime.serving.get('app')).toBe('app--1.0.0');
    expect(app.platform.incidents).toEqual([]);
  });

  test('the document says so, with what each event says (C-32)', () => {
    const { paths } = openApiDocument(adminOperations);
    const deploy = paths['/verticals/{slug}/deploy']?.post ?? {};
    const responses = deploy.responses as Record<string, { content: Record<string, unknown> }>;
    expect(responses[200]?.content['text/event-stream']).toEqual({
      schema: { type: 'string' },
      'x-events': {
        progress: expect.objectContaining({ type: 'object', required: expect.arrayContaining(['step']) }),
        done: { $ref: '#/components/schemas/Deployment' },
        failed: { $ref: '#/components/schemas/Problem' },
      },
    });
    expect(Object.keys(responses[201]?.content ?? {})).toEqual(['application/json']);
  });
});

describe('C-33: the client', () => {
  test('sends a form, and answers what became of it', async () => {
    await using app = await openApp();
    const wasm = bytesOf(300_000);
    const files = [
      moduleOf('index.js'),
      { name: 'lib/a.wasm', mediaType: 'application/wasm', content: wasm },
    ];
    const made = await app.client.verticals.deploy.response(app.input(files));
    expectTypeOf(made.value).toEqualTypeOf<Deployment>();
    expect(made).toMatchObject({ status: 201, replayed: false, value: { promoted: true } });
    expect(app.requests[0]?.headers.get('content-type')).toMatch(/^multipart\/form-data; boundary=/);
    const uploaded = app.runtime.uploaded.get('app--1.0.0');
    expect(uploaded?.map(({ name, mediaType }) => [name, mediaType])).toEqual([
      ['index.js', TYPE],
      ['lib/a.wasm', 'application/wasm'],
    ]);
    expect(Buffer.from(uploaded?.[1]?.bytes ?? []).equals(wasm)).toBe(true);
    const [row] = (await app.client.adminLog.list({ query: { action: 'verticals.deploy' } })).items;
    expect(made.head).toEqual({ sequence: row?.sequence, hash: row?.hash });
  });

  test('tells the steps to a listener, and answers the same', async () => {
    await using app = await openApp();
    const steps: DeployStep['step'][] = [];
    const made = await app.client.verticals.deploy.response(app.input(), {
      onProgress: ({ step }) => void steps.push(step),
    });
    expect(steps[0]).toBe('registered');
    expect(steps.slice(-3)).toEqual(['uploaded', 'admitted', 'serving']);
    const [row] = (await app.client.adminLog.list({ query: { action: 'verticals.deploy' } })).items;
    expect(made).toMatchObject({
      status: 200,
      replayed: false,
      value: { version: { serving: true }, promoted: true },
      head: { sequence: row?.sequence, hash: row?.hash },
    });
    // The same again is known by its files, and has no steps.
    steps.length = 0;
    const again = await app.client.verticals.deploy(app.input(), {
      onProgress: ({ step }) => void steps.push(step),
    });
    expect(again.version).toEqual(made.value.version);
    expect(steps).toEqual([]);
  });

  test('fails with the problem, whether it comes as a status or as an event', async () => {
    await using app = await openApp();
    const options = { onProgress: () => undefined };
    await expect(app.client.verticals.deploy(app.input([]), options)).rejects.toMatchObject({
      status: 400,
      code: 'validation_failed',
    });
    app.runtime.before = () => Promise.reject(new PlatformError('validation_failed', 'It does not compile.'));
    await expect(app.client.verticals.deploy(app.input(), options)).rejects.toMatchObject({
      name: 'ControlPlaneError',
      status: 400,
      message: 'It does not compile.',
      requestId: expect.any(String),
    });
  });

  test('tries again with its key when the runtime is down for a moment', async () => {
    await using app = await openApp();
    let faults = 1;
    app.runtime.before = async () => {
      if (faults-- > 0) throw new TypeError('gone');
    };
    const made = await app.client.verticals.deploy(app.input(), { onProgress: () => undefined });
    expect(made.promoted).toBe(true);
    const keys = app.requests.map(({ headers }) => headers.get('idempotency-key'));
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
    expect(await app.outcomes()).toEqual(['intent', 'intent', 'done', 'superseded']);
  });

  test('whose line is cut comes back with its key, waits for the first call, and is told how that ended', async () => {
    await using app = await openApp();
    const gate = Promise.withResolvers<void>();
    app.runtime.before = () => gate.promise;
    let sent = 0;
    let waits = 0;
    const client = app.clientWith({
      fetch: async (request) => {
        sent += 1;
        const response = await fetch(request);
        if (sent > 1) return response;
        const reader = (response.body as ReadableStream<Uint8Array>).getReader();
        const first = await reader.read();
        await reader.cancel();
        const cut = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(first.value ?? new Uint8Array()),
          pull: (controller) => controller.error(new TypeError('terminated')),
        });
        return new Response(cut, response);
      },
      sleep: async () => {
        waits += 1;
        if (waits === 3) {
          gate.resolve();
          await expect.poll(app.outcomes).toEqual(['intent', 'done']);
        }
      },
    });
    const made = await client.verticals.deploy.response(app.input(), { onProgress: () => undefined });
    expect(made).toMatchObject({ replayed: true, value: { promoted: true } });
    expect(await app.outcomes()).toEqual(['intent', 'done']);
  });

  test('whose line is cut every time says so', async () => {
    await using app = await openApp();
    const cut = async (request: Request): Promise<Response> => {
      const response = await fetch(request);
      await response.text();
      return new Response('id: 1:a\nevent: progress\ndata: {}\n\n: still', response);
    };
    const call = app
      .clientWith({ fetch: cut })
      .verticals.deploy(app.input(), { onProgress: () => undefined });
    await expect(call).rejects.toBeInstanceOf(ConnectionBroken);
  });

  test('does not take a fault of the listener for one of the connection', async () => {
    await using app = await openApp();
    const call = app.client.verticals.deploy(app.input(), {
      onProgress: () => {
        throw new TypeError('mine');
      },
    });
    await expect(call).rejects.toThrow('mine');
    expect(app.requests).toHaveLength(1);
    await expect.poll(app.outcomes).toEqual(['intent', 'done']);
  });

  test('that gives up stops listening, and nothing else', async () => {
    await using app = await openApp();
    const gate = Promise.withResolvers<void>();
    app.runtime.before = () => gate.promise;
    const stop = new AbortController();
    const call = app.client.verticals.deploy(app.input(), {
      signal: stop.signal,
      onProgress: () => stop.abort(new Error('enough')),
    });
    await expect(call).rejects.toThrow('enough');
    gate.resolve();
    await expect.poll(app.outcomes).toEqual(['intent', 'done']);
  });

  test('deploys as many files as there may be, near the limit of a form', async () => {
    await using app = await openApp();
    // The overhead of a form for each file: its boundary, its name and its type.
    const each = Math.floor(bytesMax / MODULES_MAX) - 400;
    const content = bytesOf(each);
    const files = Array.from({ length: MODULES_MAX }, (_, index) => moduleOf(`lib/m${index}.js`, content));
    const last: DeployStep[] = [];
    const made = await app.client.verticals.deploy(app.input(files), {
      onProgress: (step) => last.push(step),
    });
    expect(made.promoted).toBe(true);
    expect(last.at(-1)).toMatchObject({
      modules: { done: MODULES_MAX, total: MODULES_MAX },
      bytes: { done: each * MODULES_MAX, total: each * MODULES_MAX },
    });
    const stored = app.runtime.uploaded.get('app--1.0.0') ?? [];
    expect(stored).toHaveLength(MODULES_MAX);
    expect(stored.every(({ bytes }) => Buffer.from(bytes ?? []).equals(content))).toBe(true);
  }, 60_000);
});
