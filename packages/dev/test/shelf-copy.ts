/** A copy of a scope of the small application, and its migrations. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ScopeId, TenantId } from '@freehold/contracts';
import { openNodeEngine } from '@freehold/engine-node';
import { makeScopeHost, makeScopeUnit } from '@freehold/kernel';
import { defineApp, signedIn } from '../../app/src/index.ts';

const FIRST = {
  version: 1,
  name: 'books',
  sql: 'CREATE TABLE books (id TEXT PRIMARY KEY, title TEXT NOT NULL) STRICT',
};
/** Written as a migration, so that the copy has books. */
const FILL = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
  INSERT INTO books SELECT 'bok_' || i, 'Book ' || i FROM n`;

const APPLIED = [FIRST, { version: 2, name: 'many', sql: FILL }];

/** Returns the module of the migrations that the copy has, and of further ones. */
export function migrationsText(...more: readonly object[]): string {
  return `export const migrations = ${JSON.stringify([...APPLIED, ...more])};\n`;
}

/** Writes a copy of a scope of the small application, with 500 books. */
export async function writeShelfCopy(file: string, format: 'sqlite' | 'ndjson' = 'sqlite'): Promise<void> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-shelf-'));
  const engine = openNodeEngine({ dataDirectory, onIncident: () => undefined });
  const { vertical } = defineApp({
    manifest: {
      ...{ slug: 'shelf', name: 'Shelf', version: '0.1.0', permissions: {}, entities: {}, env: {} },
      ...{ roles: { owner: { name: 'Owner', permissions: [] } }, ownerRole: 'owner' },
    },
    migrations: APPLIED,
    operations: {},
    authenticatedPrincipal: signedIn(),
  });
  const host = makeScopeHost({ engine, unit: makeScopeUnit(vertical) });
  const tenantId = 'tnt_01j00000000000000000000001' as TenantId;
  const scopeId = 'scp_01j00000000000000000000001' as ScopeId;
  await host.provisionScopeLocal({ tenantId, scopeId, name: 'Shelf' });
  const { body } = await host.exportScopeLocal({ tenantId, scopeId, format });
  writeFileSync(file, Buffer.from(await new Response(body).arrayBuffer()));
  await engine.close();
  rmSync(dataDirectory, { recursive: true });
}
