/** The directory's record of an erasure: a receipt for another subject is not believed (spec C-20). */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type { ScopeRecord } from '../admin-operations.ts';

async function openWithScope() {
  const platform = await openPlatform();
  const scope = await platform.scope((await platform.tenant('acme')).id);
  return { platform, scope };
}

const shred = (platform: Platform, { tenant, id: scope }: ScopeRecord, subject = 'cus_ada') =>
  platform.call('subjects.shred', { params: { tenant, scope, subject } });
const log = (platform: Platform) => platform.adminLog({ action: 'subjects.shred' });

test('spec C-20: a receipt for another subject is refused, and no caller is told that it was done', async () => {
  const { platform, scope } = await openWithScope();
  platform.fieldwork.fault = async () =>
    Response.json({ subject: 'cus_bob', keyDigest: null, shreddedAt: '2026-11-21T08:00:00.000Z' });
  expect(await refusal(shred(platform, scope))).toMatchObject({ status: 502, reason: 'outcome_unknown' });
  expect((await log(platform)).map(({ outcome }) => outcome)).toEqual(['intent']);
  platform.fieldwork.fault = null;
  expect((await shred(platform, scope)).value).toMatchObject({ subject: 'cus_ada', redacted: true });
});

test.each(['unavailable', 'runtime_fault', 'conflict', 'internal'] as const)(
  'spec C-20: an application that ends with %s may have destroyed the key: it is not said to have failed',
  async (code) => {
    const { platform, scope } = await openWithScope();
    platform.fieldwork.fault = async () => problemDocument(new PlatformError(code, 'Not now.'));
    expect(await refusal(shred(platform, scope))).toMatchObject({ status: 502, reason: 'outcome_unknown' });
    expect((await log(platform)).map(({ outcome }) => outcome)).toEqual(['intent']);
  },
);

test('spec C-20: one that refuses was never begun, and the log says that it failed', async () => {
  const { platform, scope } = await openWithScope();
  platform.fieldwork.fault = async () => problemDocument(new PlatformError('not_found', 'No person.'));
  expect(await refusal(shred(platform, scope))).toMatchObject({ status: 404 });
  expect((await log(platform)).map(({ outcome }) => outcome)).toEqual(['intent', 'failed']);
});

test('spec C-20: the row of the log is evidence of what was destroyed, and of whom for those alone who know the id', async () => {
  const { platform, scope } = await openWithScope();
  const second = await platform.scope(scope.tenant, 'second');
  const receipts = [await shred(platform, scope), await shred(platform, second)].map(
    ({ value }) => value as { receiptId: string; keyDestroyedAt: string },
  );
  // The same id in another scope is another person, with a receipt of its own.
  expect(receipts[0]?.receiptId).not.toBe(receipts[1]?.receiptId);
  const done = (await log(platform)).filter(({ outcome }) => outcome === 'done');
  expect(done).toMatchObject(
    [scope, second].map(({ id }, index) => ({
      target: { scope: id },
      after: {
        receiptId: receipts[index]?.receiptId,
        keyDestroyedAt: receipts[index]?.keyDestroyedAt,
        keyDigest: null,
      },
    })),
  );
  expect(done[0]?.after?.subject).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(done[0]?.after?.subject).not.toBe(done[1]?.after?.subject);
  expect((await shred(platform, scope)).value).toEqual(receipts[0]);
  expect(await log(platform)).toHaveLength(4);
});
