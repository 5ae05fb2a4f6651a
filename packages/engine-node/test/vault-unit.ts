/** A unit without copies. */
import { defineUnit } from '@freehold/store';

export const vaultUnit = defineUnit({
  kind: 'vault',
  copies: 'none',
  migrations: [
    { name: 'vault', migrations: [{ version: 1, name: 'secrets', sql: 'CREATE TABLE secret (value TEXT)' }] },
  ],
  queries: ['list', 'pragma'],
  open: ({ db }) => ({
    put: ({ value }: { value: string }): void => db.run('INSERT INTO secret VALUES (?)', value),
    drop: (): void => db.run('DELETE FROM secret'),
    list: (): string[] => db.all<{ value: string }>('SELECT value FROM secret').map((row) => row.value),
    pragma: (): unknown => db.get<Record<string, unknown>>('PRAGMA secure_delete')?.secure_delete,
  }),
});
