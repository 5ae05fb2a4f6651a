/** The judge of the crash suite finds each kind of fault. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { row } from './conditions.ts';
import { callsOf, faultsOf, openIntents } from './judge.ts';
import { type Line, PLACE } from './protocol.ts';

const REQUEST = 'req-1';
const HEAD = { sequence: 1, hash: 'h1' };

/** Makes a directory with the tables that the judge reads. */
function judged({
  operation,
  rows,
  effect,
  open = [],
  work,
  told = [],
}: {
  readonly operation: 'tenants.create' | 'scopes.provision' | 'scopes.reap';
  readonly rows: readonly string[];
  readonly effect: boolean;
  readonly open?: readonly number[];
  readonly work?: { readonly state: string; readonly finished: number | null; readonly problem?: string };
  readonly told?: readonly Line[];
}) {
  const place = mkdtempSync(join(tmpdir(), 'freehold-judge-'));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  mkdirSync(join(place, PLACE.data, 'directory'), { recursive: true });
  const db = new DatabaseSync(join(place, PLACE.data, 'directory', 'main.sqlite'));
  db.exec(`CREATE TABLE admin_log (sequence, request, action, outcome, intent, hash);
    CREATE TABLE open_intents (sequence);
    CREATE TABLE operations (intent, state, finished_at, problem);
    CREATE TABLE tenants (slug);`);
  rows.forEach((outcome, index) => {
    db.prepare('INSERT INTO admin_log VALUES (?, ?, ?, ?, NULL, ?)').run(
      ...[index + 1, REQUEST, operation, outcome, `h${index + 1}`],
    );
  });
  for (const sequence of open) db.prepare('INSERT INTO open_intents VALUES (?)').run(sequence);
  if (work)
    db.prepare('INSERT INTO operations VALUES (1, ?, ?, ?)').run(
      ...[work.state, work.finished, work.problem ?? null],
    );
  if (effect) db.exec(`INSERT INTO tenants VALUES ('made')`);
  db.close();
  const begin: Line = {
    t: 'begin',
    request: REQUEST,
    call: { operation, key: 'key-1' },
    effect: [row('tenants WHERE slug = ?', 'made')],
  };
  return { faults: faultsOf(place, callsOf([begin, ...told])), open: openIntents(place) };
}

const acknowledged: Line = { t: 'acknowledged', request: REQUEST, replayed: false, head: HEAD };

test('an effect and its row together, or neither, is no fault', () => {
  const both = { operation: 'tenants.create', rows: ['done'], effect: true, told: [acknowledged] } as const;
  expect(judged(both).faults).toEqual([]);
  expect(judged({ ...both, told: [] }).faults).toEqual([]);
  expect(judged({ operation: 'tenants.create', rows: [], effect: false }).faults).toEqual([]);
});

test('an effect without its row, and a row without its effect, are faults', () => {
  for (const told of [[], [acknowledged]])
    expect(judged({ operation: 'tenants.create', rows: ['done'], effect: false, told }).faults).toHaveLength(
      1,
    );
  expect(judged({ operation: 'tenants.create', rows: [], effect: true }).faults).toHaveLength(1);
  expect(judged({ operation: 'tenants.create', rows: ['failed'], effect: true }).faults).toHaveLength(1);
});

test('an acknowledged call that is not in the log as it was acknowledged is a fault', () => {
  const lost = judged({ operation: 'tenants.create', rows: [], effect: true, told: [acknowledged] });
  expect(lost.faults.length).toBeGreaterThan(0);
  const forged = { ...acknowledged, head: { sequence: 1, hash: 'another' } };
  expect(
    judged({ operation: 'tenants.create', rows: ['done'], effect: true, told: [forged] }).faults,
  ).toHaveLength(1);
});

test('a listed intent without an outcome is no fault, and an unlisted one is', () => {
  const cut = { operation: 'scopes.provision', rows: ['intent'], effect: true } as const;
  expect(judged({ ...cut, open: [1] })).toMatchObject({ faults: [], open: [{ request: REQUEST }] });
  expect(judged(cut).faults).toHaveLength(1);
});

test('long work that did not end, or ended otherwise than it is logged, is a fault', () => {
  const begun = { operation: 'scopes.reap', effect: false, open: [1] } as const;
  const running = { state: 'running', finished: null };
  expect(judged({ ...begun, rows: ['intent'], work: running }).faults).toHaveLength(1);
  expect(judged({ ...begun, rows: ['intent'] }).faults).toHaveLength(1);
  const failed = { state: 'failed', finished: 1, problem: '{"reason":"outcome_unknown"}' };
  expect(judged({ ...begun, rows: ['intent'], work: failed })).toEqual({ faults: [], open: [] });
  const done = { state: 'done', finished: 1 };
  expect(judged({ ...begun, rows: ['intent', 'failed'], work: done }).faults).toHaveLength(1);
});
