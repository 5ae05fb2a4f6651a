import type { StorageStatus } from '@freehold/engine-node';
import { expect, test } from 'vitest';
import { degradationsOf } from './degraded.ts';

const of = (status: StorageStatus, missing = 0, { failing = 0, unreadable = 0 } = {}) =>
  degradationsOf(
    { engine: { storageStatus: () => status }, vaults: { missing: () => missing } },
    { failing, unreadable },
  );
const unit = (key: string) => ({ kind: 'identity', key, path: `/data/identity/${key}.sqlite` });

test('a platform where everything works is not degraded', () => {
  expect(of({ fault: null, unreadable: [] })).toEqual([]);
});

test('a full disk and databases that cannot be read are named without a path or a tenant', () => {
  const fault = { reason: 'storage_full', detail: 'The disk of the data directory /data is full.' } as const;
  const found = of({ fault, unreadable: [unit('tnt_a'), unit('tnt_b')] });
  expect(found).toMatchObject([
    { reason: 'storage_full', detail: expect.stringContaining('reads go on') },
    { reason: 'unit_unreadable', detail: expect.stringContaining('2 databases cannot be read') },
  ]);
  expect(JSON.stringify(found)).not.toMatch(/tnt_|\/data/);
});

test('damaged databases of deployed instances count with those of the platform', () => {
  const [found] = of({ fault: null, unreadable: [unit('tnt_a')] }, 0, { unreadable: 2 });
  expect(found).toMatchObject({
    reason: 'unit_unreadable',
    detail: expect.stringContaining('3 databases cannot be read'),
  });
});

test('vaults that are gone are counted', () => {
  const [found] = of({ fault: null, unreadable: [] }, 2);
  expect(found).toEqual({
    reason: 'vault_missing',
    detail: expect.stringContaining('2 vaults are gone: what is sealed about people of their tenants'),
  });
});

test('deployed verticals that fail again and again are counted, and not named', () => {
  const [found] = of({ fault: null, unreadable: [] }, 0, { failing: 1 });
  expect(found).toEqual({
    reason: 'vertical_failing',
    detail: expect.stringContaining('1 deployed vertical fails again and again'),
  });
});
