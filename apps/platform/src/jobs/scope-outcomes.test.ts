import { expect, test } from 'vitest';
import { makeScopeOutcomes, type ScopeOutcomesOptions } from './scope-outcomes.ts';

const SCOPE = 'scp_01j00000000000000000000001';
const TENANT = 'tnt_01j00000000000000000000001';
type Row = Readonly<Record<string, string | number | null>>;

/** One scope whose tables a test fills; the clock stands at 1,000 when the process begins. */
function open() {
  const tables: Record<string, Row[]> = { _spine_schedules: [], _spine_dead_letters: [] };
  const errors: unknown[] = [];
  let reads = 0;
  let broken = false;
  const stub = {
    identify: async () => ({ tenantId: TENANT }),
    table: async ({ table, filters }: { table: string; filters: readonly { value: number }[] }) => {
      reads += 1;
      if (broken) throw new Error('the disk');
      const since = filters[0]?.value ?? 0;
      const rows = (tables[table] ?? []).filter(({ last_at: at }) => at !== null && Number(at) >= since);
      const columns = Object.keys(tables[table]?.[0] ?? {}).map((name) => ({ name }));
      return { columns, rows: rows.map((row) => columns.map(({ name }) => row[name])), nextCursor: null };
    },
  };
  const outcomes = makeScopeOutcomes({
    scope: () => stub as unknown as ReturnType<ScopeOutcomesOptions['scope']>,
    now: () => 1_000,
    onError: (error) => errors.push(error),
  });
  const read = async () => {
    const lines: object[] = [];
    for await (const line of outcomes.read(new AbortController().signal)) lines.push(line);
    return lines;
  };
  const touch = () => outcomes.touch({ vertical: 'fieldwork', scope: SCOPE });
  const breakIt = () => {
    broken = true;
  };
  return { tables, read, touch, errors, reads: () => reads, breakIt };
}

const run = (key: string, atMs: number, outcome: string): Row => ({
  key,
  pattern: '* * * * *',
  next_at: atMs + 1,
  last_at: atMs,
  last_outcome: outcome,
});

test('spec 6.4: each run of a schedule is reported once, done or failed', async () => {
  const { tables, read, touch } = open();
  tables._spine_schedules = [run('overdue', 2_000, 'done'), run('note-erasures', 2_000, 'permission_denied')];
  touch();
  expect(await read()).toEqual([
    {
      run: {
        kind: 'schedule',
        unit: 'overdue',
        tenant: TENANT,
        scope: SCOPE,
        vertical: 'fieldwork',
        outcome: 'ran',
        reason: null,
      },
    },
    {
      run: expect.objectContaining({ unit: 'note-erasures', outcome: 'failed', reason: 'permission_denied' }),
    },
  ]);
  touch();
  expect(await read()).toEqual([]);
  tables._spine_schedules = [run('overdue', 3_000, 'done'), run('note-erasures', 2_000, 'permission_denied')];
  touch();
  expect(await read()).toMatchObject([{ run: { unit: 'overdue', outcome: 'ran' } }]);
});

test('a row of the same millisecond as the last one that was read is not lost', async () => {
  const { tables, read, touch } = open();
  tables._spine_schedules = [run('one', 2_000, 'done')];
  touch();
  await read();
  tables._spine_schedules = [run('one', 2_000, 'done'), run('two', 2_000, 'done')];
  touch();
  expect(await read()).toMatchObject([{ run: { unit: 'two' } }]);
  touch();
  expect(await read()).toEqual([]);
});

test('a delivery that was given up is a failure with its event; older ones than this process are not read', async () => {
  const { tables, read, touch } = open();
  const letter = (event: string, atMs: number): Row => ({
    event,
    subscriber: 'reminders',
    attempts: 10,
    last_at: atMs,
    error_code: 'conflict',
  });
  tables._spine_dead_letters = [letter('evt_new', 1_500), letter('evt_old', 999)];
  touch();
  expect(await read()).toEqual([
    {
      failure: {
        operation: 'deliveries.deliver',
        tenant: TENANT,
        scope: SCOPE,
        vertical: 'fieldwork',
        subject: 'evt_new',
        reason: 'conflict',
        detail: 'The subscriber reminders gave an event up. Attempts: 10.',
      },
    },
  ]);
});

test('a scope without work is not read, and a scope that cannot be read costs the others nothing', async () => {
  const { read, touch, errors, reads, breakIt } = open();
  expect([await read(), reads()]).toEqual([[], 0]);
  breakIt();
  touch();
  expect([await read(), errors.length]).toEqual([[], 1]);
});
