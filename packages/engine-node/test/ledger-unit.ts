/** A small unit for the tests of this engine, and for the processes that they start and kill. */
import { defineUnit, RollbackThen } from '@freehold/store';

export const ledgerUnit = defineUnit({
  kind: 'ledger',
  migrations: [
    {
      name: 'ledger',
      migrations: [
        { version: 1, name: 'entries', sql: 'CREATE TABLE entry (id INTEGER PRIMARY KEY, fill BLOB)' },
      ],
    },
  ],
  queries: ['ids', 'sum', 'pragma'],
  open: ({ db, key, afterCommit }) => {
    const add = (bytes = 0): number => {
      db.run('INSERT INTO entry (fill) VALUES (zeroblob(?))', bytes);
      return db.get<{ id: number }>('SELECT max(id) AS id FROM entry')?.id ?? 0;
    };
    return {
      key: () => key,
      add: (input?: { bytes: number }) => add(input?.bytes),
      ids: () => db.all<{ id: number }>('SELECT id FROM entry ORDER BY id').map((row) => row.id),
      /** Runs many different texts: more than an engine caches. */
      sum: ({ texts }: { texts: number }) => {
        let total = 0;
        for (let round = 0; round < 2; round++)
          for (let i = 0; i < texts; i++) total += db.get<{ n: number }>(`SELECT ${i} + ? AS n`, 1)?.n ?? 0;
        return total;
      },
      /** Limits the pages of the database from now on, as a full disk does. */
      limitPages: ({ pages }: { pages: number }) => {
        db.get(`PRAGMA max_page_count = ${Math.trunc(pages)}`);
      },
      /** A method that ignores a full disk, and goes on. */
      addRegardless: ({ bytes }: { bytes: number }) => {
        for (const each of [bytes, 0]) {
          try {
            db.savepoint(() => add(each));
          } catch {
            // The engine must not accept this.
          }
        }
      },
      /** The same without a savepoint around either write. */
      addBareRegardless: ({ bytes }: { bytes: number }) => {
        try {
          add(bytes);
        } catch {
          // As above.
        }
        add();
      },
      pragma: ({ name }: { name: 'synchronous' | 'journal_mode' | 'foreign_keys' }) =>
        Object.values(db.get<Record<string, unknown>>(`PRAGMA ${name}`) ?? {})[0],
      addInstead: ({ bytes }: { bytes: number }) => {
        throw new RollbackThen(new Error('refused'), () => void add(bytes));
      },
      /** Calls a hook after the commit. */
      addThen: ({ hook }: { hook: string }) => {
        afterCommit(() => hooks.get(hook)?.());
        return add();
      },
      /** Calls a hook in the middle of the transaction. */
      addDuring: ({ hook }: { hook: string }) => {
        const id = add();
        hooks.get(hook)?.();
        return id;
      },
    };
  },
});

/** Hooks that tests run inside a call; functions cannot be an input. */
export const hooks = new Map<string, () => void>();
