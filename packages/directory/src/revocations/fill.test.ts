/** An installation that is older than the table of revocations gets it from its admin log. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { beginHistory, type History, histories, takeStep } from '../../test/histories.ts';

type Database = Parameters<Parameters<History['platform']['tamper']>[0]>[0];

const revocationsOf = (database: Database) =>
  database.prepare('SELECT * FROM revocations ORDER BY kind, target').all();

test('spec C-19: the table that the log fills is the one that the changes wrote', async () => {
  await fc.assert(
    fc.asyncProperty(histories(40), async (steps) => {
      const { platform, ...history } = await beginHistory();
      for (const step of steps) await takeStep({ platform, ...history }, step);
      let written: unknown[] = [];
      await platform.tamper((database) => {
        written = revocationsOf(database);
        database.exec(`DROP TABLE revocations; DELETE FROM _spine_migrations WHERE "set" = 'revocations'`);
      });
      expect(written.length).toBeGreaterThan(0);
      // The first call opens the unit, and that fills the table.
      await platform.adminLog();
      expect(platform.look(revocationsOf)).toEqual(written);
      await platform.close();
    }),
    { numRuns: 3 },
  );
}, 30_000);
