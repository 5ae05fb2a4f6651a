/** Uploads that never became a backup leave nothing in the store (requirement C-18). */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, refusal } from '../../test/platform.ts';
import type { BackupRecord } from '../admin-operations.ts';

const HOUR_MS = 3_600_000;

async function open() {
  const backups = makeMemoryBackups();
  const platform = await openPlatform({ backups });
  const scope = await platform.scope((await platform.tenant('acme')).id);
  const params = { tenant: scope.tenant, scope: scope.id };
  const upload = (text = 'a copy') =>
    platform.call('imports.create', {
      params,
      upload: {
        mediaType: 'application/x-ndjson',
        body: new Response(text).body as ReadableStream<Uint8Array>,
      },
    });
  const listed = async () =>
    (await platform.value<{ items: BackupRecord[] }>('scope-backups.list', { params })).items.length;
  return { platform, backups, params, upload, listed };
}

test('the bytes of an upload whose call is refused afterwards are deleted at once', async () => {
  const { platform, backups, params, upload, listed } = await open();
  // The scope is reaped while the bytes come in.
  backups.beforePut = async () => {
    backups.beforePut = null;
    await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
    await platform.finish(platform.call('scopes.reap', { params, body: { backup: false } }));
  };
  expect(await refusal(upload())).toMatchObject({ status: 409, code: 'invalid_transition' });
  expect([...backups.stored]).toEqual([]);
  expect(await listed()).toBe(0);
  await platform.tamper((database) => {
    expect(database.prepare('SELECT * FROM incoming_copies').all()).toEqual([]);
  });
});

test('the remains of a crashed upload are deleted by the sweep after a day', async () => {
  const { platform, backups, upload, listed } = await open();
  const { put } = backups;
  const reached = Promise.withResolvers<void>();
  backups.put = async (address, body) => {
    const stored = await put(address, body);
    reached.resolve();
    // The process dies here: the bytes are stored, and the directory does not know of them.
    await new Promise(() => undefined);
    return stored;
  };
  void upload();
  await reached.promise;
  backups.put = put;
  await platform.tamper(() => undefined);
  expect(backups.stored.size).toBe(1);
  platform.clock.ms += 23 * HOUR_MS;
  expect(await platform.admin.imports.clearAbandoned()).toBe(0);
  expect(backups.stored.size).toBe(1);
  platform.clock.ms += HOUR_MS;
  expect(await platform.admin.imports.clearAbandoned()).toBe(1);
  expect(backups.stored.size).toBe(0);
  expect(await platform.admin.imports.clearAbandoned()).toBe(0);
  expect(await listed()).toBe(0);
});

test('a known backup stays however old it is, and so does a file that this directory never noted', async () => {
  const { platform, backups, upload, listed } = await open();
  await upload();
  backups.stored.set(
    'scopes/scp_01jd0000000000000000000001/bkp_01jd0000000000000000000001.ndjson',
    'of another',
  );
  platform.clock.ms += 400 * 24 * HOUR_MS;
  expect(await platform.admin.imports.clearAbandoned()).toBe(0);
  expect(backups.stored.size).toBe(2);
  expect(await listed()).toBe(1);
});

test('an upload that was given up cannot become a backup any more', async () => {
  const { platform, backups, upload, listed } = await open();
  const { put } = backups;
  backups.put = async (address, body) => {
    const stored = await put(address, body);
    platform.clock.ms += 25 * HOUR_MS;
    await platform.admin.imports.clearAbandoned();
    return stored;
  };
  expect((await upload().catch((error) => error)).status).not.toBe(201);
  expect(backups.stored.size).toBe(0);
  expect(await listed()).toBe(0);
});

test.each(['copy_damaged', 'copy_foreign'])(
  'an upload that the application finds %s is refused at once, and its bytes are deleted',
  async (reason) => {
    const { platform, backups, upload, listed } = await open();
    platform.fieldwork.fault = async (request) => {
      if (!request.url.includes('/internal/examine-copy'))
        return Response.json({ items: [], nextCursor: null, current: null, earliest: null });
      const refused = new PlatformError('validation_failed', 'The copy is none.', { reason });
      return problemDocument(refused);
    };
    expect(await refusal(upload())).toMatchObject({ status: 400, reason });
    expect(backups.stored.size).toBe(0);
    expect(await listed()).toBe(0);
  },
);

test('an application from before it could look into copies takes an upload as it is', async () => {
  const { upload, listed } = await open();
  expect(await upload()).toMatchObject({ status: 201 });
  expect(await listed()).toBe(1);
});
