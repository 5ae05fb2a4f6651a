/** After the reap of a tenant no person signs in there any more, and nothing that was sealed for it can be read. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeIdentityDirectory } from '@freehold/auth';
import { openNodeEngine } from '@freehold/engine-node';
import { ledgerUnit, makeVaultUnit } from '@freehold/kernel';
import { makeKeyring } from '@freehold/store';
import { expect, test } from 'vitest';
import { makeTenantErasure, type TenantErasureOptions } from './storage.ts';

test('spec C-03: the keys and the identity directory of one tenant go, and those of another stay', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-erasure-'));
  const engine = openNodeEngine({ dataDirectory, onIncident: (error) => expect.unreachable(String(error)) });
  try {
    const sealing = makeKeyring(['the sealing key of these tests, long enough']);
    const [vaultUnit, identity] = [makeVaultUnit(sealing), makeIdentityDirectory({ sealing })];
    const tenants = ['tnt_01arz3ndektsv4rrffq69g5fav', 'tnt_01arz3ndektsv4rrffq69g5faw'] as const;
    for (const tenant of tenants) {
      await engine.unit(vaultUnit, tenant, { create: true }).reseal({ limit: 1 });
      await engine.unit(identity, tenant, { create: true }).resealSecrets({ limit: 1 });
    }
    const filesOf = (tenant: string): string[] =>
      readdirSync(dataDirectory, { recursive: true, encoding: 'utf8' }).filter((path) =>
        path.includes(tenant),
      );
    expect(filesOf(tenants[0])).not.toEqual([]);

    const forgotten: string[] = [];
    const vaults = { forget: async (tenant: string) => void forgotten.push(tenant) };
    const erase = makeTenantErasure({
      engine,
      vaultUnit,
      vaults,
      identityUnits: () => [identity],
      forgetCopies: () => undefined,
    });
    await erase(tenants[0]);
    await erase(tenants[0]);
    expect(filesOf(tenants[0])).toEqual([]);
    expect(forgotten).toEqual([tenants[0], tenants[0]]);
    expect(filesOf(tenants[1]).filter((path) => path.endsWith('.sqlite'))).toHaveLength(2);
  } finally {
    await engine.close();
    rmSync(dataDirectory, { recursive: true });
  }
});

test('spec C-03: sign-ins go first: where that fails, the keys stay for the next try', async () => {
  const sealing = makeKeyring(['the sealing key of these tests, long enough']);
  const [vaultUnit, identity] = [makeVaultUnit(sealing), makeIdentityDirectory({ sealing })];
  const removed: string[] = [];
  let fault: Error | null = new Error('the disk is busy');
  const tools = ({ kind }: { readonly kind: string }) => ({
    remove: async () => {
      if (kind === identity.kind && fault) throw fault;
      removed.push(kind);
    },
  });
  const engine = { tools } as unknown as TenantErasureOptions['engine'];
  const vaults = { forget: async () => void removed.push('row') };
  const erase = makeTenantErasure({
    engine,
    vaultUnit,
    vaults,
    identityUnits: () => [identity],
    forgetCopies: () => undefined,
  });
  await expect(erase('tnt_01arz3ndektsv4rrffq69g5fav')).rejects.toThrow('the disk is busy');
  expect(removed).toEqual([]);
  fault = null;
  await erase('tnt_01arz3ndektsv4rrffq69g5fav');
  expect(removed).toEqual([identity.kind, vaultUnit.kind, ledgerUnit.kind, 'row']);
});
