/** A copy of a scope over HTTP: headers that say what it is, bytes that go through as they are read. */
import type { ScopeExport } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { ControlPlaneError, makeControlPlaneClient } from '../src/client/index.ts';
import { openRealPlatform } from './support/real-platform.ts';

const PIECE = 64 * 1024;

/** A platform whose vertical answers an export of that many pieces, counted as they are made. */
async function openWithCopy(pieces: number, bookmark: string | null = 'bm_1') {
  const seen = { made: 0, cancelled: false };
  const exportScopeLocal = async (): Promise<ScopeExport> => ({
    format: 'sqlite',
    bookmark,
    body: new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          if (seen.made === pieces) return controller.close();
          seen.made += 1;
          controller.enqueue(new Uint8Array(PIECE).fill(120));
        },
        cancel: () => {
          seen.cancelled = true;
        },
      },
      { highWaterMark: 0 },
    ),
  });
  const platform = await openRealPlatform({ vertical: { exportScopeLocal } });
  const client = makeControlPlaneClient(platform.clientOptions());
  const { id: tenant } = await client.tenants.create({ body: { slug: 'acme', name: 'Acme' } });
  const body = { slug: 'main', name: 'Main', vertical: 'fieldwork' };
  const { id: scope } = await client.scopes.provision({ params: { tenant }, body });
  const send = (method: string) =>
    platform.send(
      new Request(`https://control.example/tenants/${tenant}/scopes/${scope}/export`, {
        method,
        headers: { authorization: `Bearer ${platform.secret}` },
      }),
    );
  const rows = async () =>
    (await client.accessLog.list()).items.filter(({ operation }) => operation === 'scopes.export');
  return { platform, client, params: { tenant, scope }, seen, send, rows };
}

test('spec C-08: a large copy goes through without piling up, and leaves one access row', async () => {
  const { platform, send, seen, rows } = await openWithCopy(400);
  await using _ = platform;
  const response = await send('GET');
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'application/vnd.sqlite3',
    'x-export-format': 'sqlite',
    'x-export-bookmark': 'bm_1',
    'content-disposition': 'attachment',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  expect(seen.made).toBeLessThanOrEqual(2);
  let bytes = 0;
  let inFlightMax = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.byteLength;
    inFlightMax = Math.max(inFlightMax, seen.made * PIECE - bytes);
  }
  expect(bytes).toBe(400 * PIECE);
  expect(inFlightMax).toBeLessThanOrEqual(4 * PIECE);
  expect(await rows()).toMatchObject([{ items: 1 }]);
});

test('the client answers the stream with what is said of it', async () => {
  const { platform, client, params, seen } = await openWithCopy(3, null);
  await using _ = platform;
  const { body, ...head } = await client.scopes.export({ params, query: { format: 'sqlite' } });
  expect(head).toEqual({ format: 'sqlite', bookmark: null });
  expect((await new Response(body).arrayBuffer()).byteLength).toBe(3 * PIECE);
  expect(seen.cancelled).toBe(false);
});

test('a caller that goes away stops the copy at its source', async () => {
  const { platform, client, params, seen } = await openWithCopy(1_000_000);
  await using _ = platform;
  const { body } = await client.scopes.export({ params });
  const reader = body.getReader();
  await reader.read();
  await reader.cancel();
  expect(seen.cancelled).toBe(true);
  expect(seen.made).toBeLessThanOrEqual(4);
});

test('a HEAD is told what there is, and the copy is let go', async () => {
  const { platform, send, seen, rows } = await openWithCopy(10);
  await using _ = platform;
  const response = await send('HEAD');
  expect(response.status).toBe(200);
  expect(response.headers.get('x-export-format')).toBe('sqlite');
  expect(await response.text()).toBe('');
  expect(seen).toEqual({ made: 0, cancelled: true });
  expect(await rows()).toHaveLength(1);
});

test('a builder may not, and nothing is opened or logged', async () => {
  const { platform, client, params, seen, rows } = await openWithCopy(10);
  await using _ = platform;
  const { secret } = await client.pushTokens.create({ body: { name: 'ci', tenant: params.tenant } });
  const builder = makeControlPlaneClient(platform.clientOptions(secret));
  const refused = await builder.scopes.export({ params }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ControlPlaneError);
  expect(refused).toMatchObject({ status: 403, reason: 'staff_only' });
  expect(seen).toEqual({ made: 0, cancelled: false });
  expect(await rows()).toEqual([]);
});
