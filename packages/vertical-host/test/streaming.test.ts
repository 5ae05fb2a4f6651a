/** Streams through the mount and the client over sockets: as they come, no faster, and broken off where they break. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PlatformError, VerticalScopeHost } from '@freehold/contracts';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { expect, onTestFinished, test, vi } from 'vitest';
import { makeVerticalClient, type VerticalClient } from '../src/client/index.ts';
import { mountPlatformSurface } from '../src/index.ts';
import { CONNECTION, FILE, notingHost, RECORD, SCOPE } from './management-samples.ts';

const PIECE = 65_536;
const PIECES = 1_600;
const REF = SCOPE as never;
const UPLOAD = {
  ...SCOPE,
  connection: CONNECTION,
  meta: { entity: { type: 'order', id: '17' }, filename: 'x', mediaType: 'a/b' },
} as never;

/** A vertical behind a socket, whose host does this. */
async function listening(over: Partial<VerticalScopeHost>) {
  const app = new Hono();
  const incidents: unknown[] = [];
  mountPlatformSurface(app, {
    platformSecret: () => 's3cret',
    hostFor: () => notingHost([], over),
    roles: {},
    ownerRoleKey: 'owner',
    onIncident: (error) => void incidents.push(error),
  });
  const server = createServer(getRequestListener(app.fetch));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const vertical: VerticalClient = makeVerticalClient({ baseUrl, platformSecret: 's3cret' });
  return { vertical, incidents, baseUrl };
}

/** 100 MiB, made when they are asked for; says how many pieces were, and whether it was told to stop. */
function large(pieces = PIECES, fail?: Error) {
  const state = { pulled: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        if (state.pulled >= pieces) return fail ? controller.error(fail) : controller.close();
        state.pulled += 1;
        controller.enqueue(new Uint8Array(PIECE).fill(state.pulled % 251));
      },
      cancel: () => {
        state.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { state, body };
}

async function count(body: ReadableStream<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const piece of body) bytes += piece.byteLength;
  return bytes;
}

const exporting = (body: ReadableStream<Uint8Array>) => ({
  exportScopeLocal: async () => ({ format: 'ndjson' as const, bookmark: 'bm_7', body }),
});
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable('it was answered'),
    (error: unknown) => error as PlatformError,
  );

test('D-01 a large export arrives whole, and is made no faster than it is taken', async () => {
  const { body, state } = large();
  const { vertical } = await listening(exporting(body));
  const reader = (await vertical.exportScopeLocal(REF)).body.getReader();
  let taken = (await reader.read()).value?.byteLength ?? 0;
  // Sockets hold a few megabytes between the two; the rest is still to be made.
  await expect.poll(() => state.pulled).toBeGreaterThan(1);
  expect(state.pulled).toBeLessThan(PIECES / 2);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    taken += value.byteLength;
    expect(state.pulled * PIECE - taken).toBeLessThan((PIECES / 2) * PIECE);
  }
  expect(taken).toBe(PIECES * PIECE);
});

test('D-02 a large upload goes through whole, and no faster than the host takes it', async () => {
  const { body, state } = large();
  let ahead = 0;
  const { vertical } = await listening({
    connectorAttachmentUploadLocal: async (_upload, file) => {
      let bytes = 0;
      for await (const piece of file) {
        bytes += piece.byteLength;
        ahead = Math.max(ahead, state.pulled * PIECE - bytes);
      }
      return { ...RECORD, bytes } as never;
    },
  });
  expect((await vertical.connectorAttachmentUploadLocal(UPLOAD, body)).bytes).toBe(PIECES * PIECE);
  expect(ahead).toBeLessThan((PIECES / 2) * PIECE);
});

test('a large restore goes through whole', async () => {
  const { vertical } = await listening({
    restoreScopeLocal: async ({ format }, body) => ({
      format,
      tables: 1,
      rows: await count(body),
      undo: null,
    }),
  });
  const copy = { ...SCOPE, format: 'ndjson' } as never;
  expect((await vertical.restoreScopeLocal(copy, large().body)).rows).toBe(PIECES * PIECE);
});

test('an export that fails on its way is broken off, never ended, and says nothing of why', async () => {
  const failure = new Error('hunter2');
  // The server adapter says that a stream of its broke; that is not what is looked at here.
  const console = vi.spyOn(globalThis.console, 'error').mockImplementation(() => undefined);
  onTestFinished(() => console.mockRestore());
  const { vertical, incidents, baseUrl } = await listening({
    exportScopeLocal: async () => ({ format: 'ndjson', bookmark: null, body: large(5, failure).body }),
  });
  const { body } = await vertical.exportScopeLocal(REF);
  expect(await refusal(count(body))).toMatchObject({ code: 'runtime_fault', reason: 'vertical_answer' });
  expect(incidents).toEqual([failure]);
  const query = new URLSearchParams(SCOPE);
  const raw = await fetch(`${baseUrl}/internal/export?${query}`, {
    headers: { 'x-platform-secret': 's3cret' },
  });
  const chunks: Uint8Array[] = [];
  const broken = (async () => {
    for await (const chunk of raw.body ?? []) chunks.push(chunk);
  })();
  await expect(broken).rejects.toThrow();
  expect(Buffer.concat(chunks).toString('latin1')).not.toMatch(/hunter2|Error/);
});

test('a reader who has had enough stops the export at its source', async () => {
  const { body, state } = large();
  const { vertical } = await listening(exporting(body));
  const reader = (await vertical.exportScopeLocal(REF)).body.getReader();
  await reader.read();
  await reader.cancel();
  await expect.poll(() => state.cancelled).toBe(true);
  expect(state.pulled).toBeLessThan(PIECES);
});

test('a refusal arrives while the sender still sends, and stops it', async () => {
  const { vertical } = await listening({
    connectorAttachmentUploadLocal: async (_upload, file) => {
      await file.cancel();
      throw new Error('unused');
    },
    restoreScopeLocal: async () => {
      throw new Error('unused');
    },
  });
  for (const send of [
    (body: ReadableStream<Uint8Array>) => vertical.connectorAttachmentUploadLocal(UPLOAD, body),
    (body: ReadableStream<Uint8Array>) =>
      vertical.restoreScopeLocal({ ...SCOPE, format: 'ndjson' } as never, body),
  ]) {
    const { body, state } = large(1_000_000);
    expect((await refusal(send(body))).code).toBe('internal');
    await expect.poll(() => state.cancelled).toBe(true);
    expect(state.pulled).toBeLessThan(1_000);
  }
});

test('a sender who breaks off leaves the host with less than a file', async () => {
  const failure = new Error('the line is down');
  const seen = Promise.withResolvers<unknown>();
  const { vertical } = await listening({
    connectorAttachmentUploadLocal: async (_upload, file) => {
      await count(file).then(seen.resolve, seen.reject);
      throw new Error('unused');
    },
  });
  seen.promise.catch(() => undefined);
  const sent = vertical.connectorAttachmentUploadLocal(UPLOAD, large(3, failure).body);
  await expect(sent).rejects.toBe(failure);
  await expect(seen.promise).rejects.toMatchObject({ code: 'validation_failed', reason: 'body_incomplete' });
});

test('nothing is left between two calls on one connection', async () => {
  const { vertical } = await listening({});
  for (let i = 0; i < 20; i++) {
    const { body } = await vertical.connectorAttachmentOpenLocal({
      ...SCOPE,
      connection: CONNECTION,
      attachment: RECORD.id,
    } as never);
    expect(await new Response(body).text()).toBe(FILE);
    expect(await vertical.connectorAttachmentUploadLocal(UPLOAD, new Response(FILE).body as never)).toEqual(
      RECORD,
    );
  }
});
