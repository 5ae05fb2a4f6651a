/** The platform's own memory beside the directory: a proof of its sealing key, and which tenants have a vault. */
import { defineUnit, type UnitContext } from '@freehold/store';

export const PLATFORM_KEY = 'main';

/** The unit: kind `platform`, one of it. It is in every archive, so that a restored directory knows its key too. */
export const platformUnit = defineUnit({
  kind: 'platform',
  migrations: [
    {
      name: 'platform',
      migrations: [
        {
          version: 1,
          name: 'proof of the sealing key',
          sql: `
CREATE TABLE seal_proof (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  sealed TEXT NOT NULL
) STRICT;
`,
        },
        {
          version: 2,
          name: 'tenants with a vault',
          sql: 'CREATE TABLE vaults (tenant_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;',
        },
      ],
    },
  ],
  queries: ['sealProof', 'hasVault', 'vaults'],
  open: ({ db }: UnitContext) => ({
    /** The sealed proof, or null before the first start has made one. */
    sealProof: (): string | null =>
      db.get<{ sealed: string }>('SELECT sealed FROM seal_proof WHERE only_row = 1')?.sealed ?? null,
    saveSealProof: ({ sealed }: { readonly sealed: string }): null => {
      db.run(
        'INSERT INTO seal_proof (only_row, sealed) VALUES (1, ?) ON CONFLICT (only_row) DO UPDATE SET sealed = excluded.sealed',
        sealed,
      );
      return null;
    },
    hasVault: ({ tenant }: { readonly tenant: string }): boolean =>
      db.get('SELECT 1 FROM vaults WHERE tenant_id = ?', tenant) !== undefined,
    vaults: (): string[] =>
      db
        .all<{ tenant: string }>('SELECT tenant_id AS tenant FROM vaults ORDER BY 1')
        .map((row) => row.tenant),
    noteVaults: ({ tenants }: { readonly tenants: readonly string[] }): null => {
      for (const tenant of tenants)
        db.run('INSERT INTO vaults (tenant_id) VALUES (?) ON CONFLICT DO NOTHING', tenant);
      return null;
    },
    forgetVault: ({ tenant }: { readonly tenant: string }): null => {
      db.run('DELETE FROM vaults WHERE tenant_id = ?', tenant);
      return null;
    },
  }),
});
