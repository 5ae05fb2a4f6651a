/** Erasures end the previews of their scope: a copy has what no key seals. */
import type { Vault } from '@freehold/kernel';
import { expect, test } from 'vitest';
import { endingPreviews } from './preview-place.ts';

const REF = { tenantId: 'tnt_1', scopeId: 'scp_1' } as Parameters<Vault['shred']>[0];

function open(endOf: (of: { readonly scope: string }) => Promise<void>) {
  const done: string[] = [];
  const vault = {
    shred: async (_ref: object, subject: string, keyIds: readonly string[] = []) => {
      done.push(`shred ${subject} ${keyIds.join()}`);
      return { subject, keyDigest: null, shreddedAt: '2026-11-28T00:00:00.000Z' };
    },
  } as unknown as Vault;
  const ending = endingPreviews(vault, async (of) => {
    done.push(`end ${of.scope}`);
    await endOf(of);
  });
  return { done, ending };
}

test('before a person is erased from a scope, its previews end', async () => {
  const { done, ending } = open(async () => undefined);
  expect(await ending.shred(REF, 'cus_1', ['k1'])).toMatchObject({ subject: 'cus_1' });
  expect(done).toEqual(['end scp_1', 'shred cus_1 k1']);
});

test('a preview that cannot end keeps the erasure from claiming that nothing is left', async () => {
  const { done, ending } = open(() => Promise.reject(new Error('busy')));
  await expect(ending.shred(REF, 'cus_1')).rejects.toThrow('busy');
  expect(done).toEqual(['end scp_1']);
});
