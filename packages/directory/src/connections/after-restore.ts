/**
 * Connections where the directory is replaced by an earlier state of itself: what opens other people's systems stays as
 * it is now. An earlier credential is one that was exchanged, perhaps because somebody had stolen it, or a refresh token
 * that was used up: a provider that sees it again ends the whole connection (RFC 9700, section 4.14.2).
 */
import type { SqlDatabase, SqlValue } from '@freehold/store';

type Row = Readonly<Record<string, SqlValue>>;

/** What belongs to one connection, and says what can be done with it. */
const KEPT = ['connection_credentials', 'connection_grants'] as const;

/** Remembers the connections that there are. What it answers gives those that are there afterwards what they had. */
export function rememberConnections(db: SqlDatabase): () => void {
  const before = db.all<Row>('SELECT id, state, reason, verified_at FROM connections');
  const kept = KEPT.map((table) => ({ table, rows: db.all<Row>(`SELECT * FROM ${table}`) }));
  return () => {
    for (const { id, state, reason, verified_at } of before) {
      for (const table of KEPT) db.run(`DELETE FROM ${table} WHERE connection = ?`, id as string);
      db.run(
        'UPDATE connections SET state = ?, reason = ?, verified_at = ? WHERE id = ?',
        ...[state as string, reason as string | null, verified_at as number, id as string],
      );
    }
    for (const { table, rows } of kept) for (const row of rows) putBack(db, table, row);
  };
}

/** A connection, or the scope that it was let into, may be one that is not known any more. */
function putBack(db: SqlDatabase, table: (typeof KEPT)[number], row: Row): void {
  const isThere = (of: 'connections' | 'scopes', id: SqlValue | undefined): boolean =>
    id === undefined || db.get(`SELECT 1 FROM ${of} WHERE id = ?`, id) !== undefined;
  if (!isThere('connections', row.connection) || !isThere('scopes', row.scope)) return;
  const columns = Object.keys(row);
  db.run(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    ...columns.map((column) => row[column] as SqlValue),
  );
}
