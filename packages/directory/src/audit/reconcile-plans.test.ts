/** The reconciler comes by every minute: what it asks grows with what is open, and not with the log. */
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { clearingOf, LAPSING } from '../expiries/clear.ts';
import { directoryUnit } from '../unit.ts';
import { COUNT_UNSETTLED, UNREPORTED } from './open-intents.ts';

function planOf(sql: string, ...params: readonly number[]): string {
  const database = new DatabaseSync(':memory:');
  for (const { migrations } of directoryUnit.migrations)
    for (const each of migrations) database.exec(each.sql);
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params);
  return plan.map(({ detail }) => String(detail)).join('\n');
}

test('what was not reported is found by itself, and the row of the log by its number', () => {
  const plan = planOf(UNREPORTED, 9, 100);
  expect(plan).toMatch(/SCAN o USING INDEX open_intents_unreported|SEARCH o/);
  expect(plan).toMatch(/SEARCH l USING INTEGER PRIMARY KEY/);
  expect(plan).toMatch(/SEARCH w USING (COVERING )?INDEX operations_intent/);
  expect(plan).not.toMatch(/SCAN [lw]\b|TEMP B-TREE/);
});

test('the count asks for unfinished work only', () => {
  const plan = planOf(COUNT_UNSETTLED, 9);
  expect(plan).toMatch(/SEARCH w USING (COVERING )?INDEX operations_intent/);
  expect(plan).not.toMatch(/SCAN [lw]\b/);
});

test.each(LAPSING)('lapsed rows of $table are found by their time', (lapsing) => {
  const plan = planOf(clearingOf(lapsing), 9, 100);
  expect(plan).toMatch(/SEARCH .* \((expires_at|at|since|finished_at)(<|>)/);
  expect(plan).not.toMatch(/TEMP B-TREE|SCAN/);
});
