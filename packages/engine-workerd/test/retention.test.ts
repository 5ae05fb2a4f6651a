/** Housekeeping inside a Durable Object: old rows are removed, the reads say so, and the bucket is swept. */
import { env } from 'cloudflare:workers';
import type { PrincipalId, ScopeId, TenantId } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { makeScopeHost, makeScopeUnit, runDeliveries } from '../../kernel/src/index.ts';
import { makeBucketBlobStore, makeR2Bucket } from '../src/index.ts';
import { ahead, keeping, openScopeEngine, scopeNow } from './worker.ts';

const DAY_MS = 86_400_000;
const ref = {
  tenantId: 'tnt_01j00000000000000000000001' as TenantId,
  scopeId: 'scp_01j00000000000000000000keep' as ScopeId,
};
const librarian = 'prn_01j00000000000000000000001' as PrincipalId;

test('an object removes rows that its policy no longer keeps, a part for each alarm, and has its bytes swept', async () => {
  const host = makeScopeHost({
    engine: openScopeEngine(env.KEEPING),
    unit: makeScopeUnit(keeping),
    now: scopeNow,
    blobs: (scopeId) => makeBucketBlobStore({ bucket: makeR2Bucket(env.BLOBS), scopeId, now: scopeNow }),
  });
  await host.provisionScopeLocal({ ...ref, name: 'City library' });
  const scope = host.scope(ref.scopeId);
  await scope.assignRole({ principal: librarian, role: 'librarian', by: 'platform' });
  const run = async (operation: string, input: unknown) =>
    (await scope.invoke({ principal: librarian, operation, input })).output as { book: string };
  const { book } = await run('book/add', { title: 'Emma' });
  for (let i = 0; i < 3; i++) await run('book/lend', { book });
  const entity = { type: 'book', id: book };
  const meta = { entity, filename: 'cover.png', mediaType: 'image/png' };
  const { id } = await host.attachments.add(
    ref.scopeId,
    librarian,
    meta,
    new Response('a cover').body as never,
  );
  await host.attachments.remove(ref.scopeId, librarian, id);

  const round = () =>
    runDeliveries({
      vertical: keeping,
      scope,
      scopeId: ref.scopeId,
      now: scopeNow,
      onIncident: (error) => {
        throw error;
      },
      attachments: host.attachments,
    });
  await round();
  const before = await scope.history({ entity, limit: 50 });
  expect(before.items.map(({ type }) => type)).toEqual([
    'book.added',
    'book.lent',
    'book.lent',
    'book.lent',
    'attachment.added',
    'attachment.removed',
  ]);
  ahead.ms += 32 * DAY_MS;
  for (let i = 0; i < 20 && (await scope.retention({})).lastRunAt === null; i++) {
    await round();
    ahead.ms += 1_000;
  }
  const after = await scope.history({ entity, limit: 50 });
  expect(after.items.map(({ type }) => type)).toEqual(['attachment.removed']);
  expect(after.prunedBefore).toBe((await scope.retention({})).historyPrunedBefore);
  await expect(scope.cause({ event: before.items[1]?.id as never })).rejects.toMatchObject({
    code: 'not_found',
    reason: 'history_pruned',
  });
  // R2 uses its own clock, which is not ahead: to the sweep, the bytes are old all the same.
  expect((await env.BLOBS.list({ prefix: `blobs/${ref.scopeId}/` })).objects).toEqual([]);
});
