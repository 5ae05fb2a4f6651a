/** A scope and its files go together, also when the deletion is cut short between them. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeNodeBlobStore } from '../../engine-node/src/blob-store.ts';
import { openNodeEngine } from '../../engine-node/src/index.ts';
import { defineVertical, makeScopeHost, makeScopeUnit } from '../src/index.ts';
import { owner, scopeId, shop, tenant } from './shop.ts';

const ref = { tenantId: tenant, scopeId: scopeId as never };
const vertical = defineVertical({
  ...shop,
  manifest: {
    ...shop.manifest,
    entities: { box: { attachments: { read: 'box.read', write: 'box.pack', remove: 'box.pack' } }, bill: {} },
  },
});

test('spec 4.4: what was cut short while files were removed is made again, and leaves no file', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  const engine = openNodeEngine({ dataDirectory, onIncident: () => undefined });
  onTestFinished(async () => {
    await engine.close();
    rmSync(dataDirectory, { recursive: true });
  });
  let failures = 1;
  const host = makeScopeHost({
    engine,
    unit: makeScopeUnit(vertical),
    blobs: (id) => {
      const store = makeNodeBlobStore({ dataDirectory, scopeId: id, now: Date.now });
      const clear = async (): Promise<void> => {
        if (failures-- > 0) throw new Error('the disk is gone');
        await store.clear();
      };
      return { ...store, clear };
    },
  });
  await host.provisionScopeLocal({ ...ref, name: 'Acme' });
  await host.scope(ref.scopeId).assignRole({ principal: owner, role: 'owner', by: 'platform' });
  const meta = { entity: { type: 'box', id: 'box_1' }, filename: 'label.pdf', mediaType: 'application/pdf' };
  await host.attachments.add(ref.scopeId, owner, meta, new Blob(['a label']).stream());
  const files = () =>
    readdirSync(dataDirectory, { recursive: true, withFileTypes: true }).filter(
      (each) => each.isFile() && each.parentPath.includes('blobs'),
    );
  expect(files()).not.toEqual([]);

  await expect(host.deleteScopeLocal(ref)).rejects.toThrow('the disk is gone');
  await host.deleteScopeLocal(ref);
  expect(files()).toEqual([]);
  await expect(host.deleteScopeLocal(ref)).rejects.toMatchObject({ reason: 'unknown_scope' });
});
