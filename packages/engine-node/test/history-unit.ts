/** A unit with a history, whose whole contents are one text. */
import { defineUnit } from '@freehold/store';

export const historyUnit = defineUnit({
  kind: 'scope-history',
  migrations: [
    {
      name: 'history',
      migrations: [
        {
          version: 1,
          name: 'rows',
          sql: 'CREATE TABLE entry (id INTEGER PRIMARY KEY, note TEXT, fill BLOB); CREATE INDEX entry_note ON entry (note)',
        },
      ],
    },
  ],
  queries: ['contents', 'count'],
  background: ['addLater'],
  open: ({ db }) => ({
    addLater: ({ note }: { note: string }): void => db.run('INSERT INTO entry (note) VALUES (?)', note),
    /** Adds rows; `bytes` each are filled with text that follows from the note. */
    add: ({ note, rows = 1, bytes = 0 }: { note: string; rows?: number; bytes?: number }): number => {
      for (let i = 0; i < rows; i++)
        db.run(
          "INSERT INTO entry (note, fill) VALUES (?, CAST(replace(hex(zeroblob(?)), '00', ?) AS BLOB))",
          note,
          bytes,
          note.slice(0, 1),
        );
      return db.get<{ id: number }>('SELECT max(id) AS id FROM entry')?.id ?? 0;
    },
    /** Adds bytes that cannot be compressed. */
    addRandom: ({ bytes }: { bytes: number }): void =>
      db.run('INSERT INTO entry (fill) VALUES (randomblob(?))', bytes),
    remove: ({ every }: { every: number }): void => db.run('DELETE FROM entry WHERE id % ? = 0', every),
    /** Writes more than SQLite keeps in memory, and rolls it back. */
    addAndFail: ({ rows, bytes }: { rows: number; bytes: number }): void => {
      for (let i = 0; i < rows; i++) db.run('INSERT INTO entry (fill) VALUES (randomblob(?))', bytes);
      throw new Error('taken back');
    },
    count: (): number => db.get<{ n: number }>('SELECT count(*) AS n FROM entry')?.n ?? 0,
    contents: (): string =>
      db.get<{ text: string }>(
        "SELECT coalesce(group_concat(id || ':' || note || ':' || coalesce(length(fill), '') || coalesce(hex(substr(fill, 1, 2)), ''), ' '), '') AS text FROM (SELECT * FROM entry ORDER BY id)",
      )?.text ?? '',
  }),
});
