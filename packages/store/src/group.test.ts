/** The group commit against a host that fails on demand; what it does on a real engine is in the contract suite. */
import { PlatformError } from '@freehold/contracts';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Outcome } from './engine.ts';
import { openUnit, type RunningUnit, TransactionLost, type UnitHost } from './group.ts';
import type { SqlDatabase } from './sql-database.ts';
import { defineUnit, RollbackThen, type UnitContext } from './unit.ts';

/** A database of one list, which is all that the group commit asks of one. */
interface FakeHost extends UnitHost {
  readonly rows: string[];
  /** The steps that happened, in order. */
  readonly log: string[];
  /** Runs what was scheduled. */
  turn(): void;
  failCommit: Error | null;
}

function makeHost(): FakeHost {
  const tasks: (() => void)[] = [];
  let rows: string[] = [];
  const log: string[] = [];
  const undoing = <T>(work: () => T): T => {
    const before = [...rows];
    try {
      return work();
    } catch (error) {
      rows = before;
      throw error;
    }
  };
  const db: SqlDatabase = {
    run: (sql) => void rows.push(sql),
    get: () => undefined,
    all: () => [],
    exec: () => undefined,
    savepoint: undoing,
  };
  const host: FakeHost = {
    key: 'key',
    db,
    log,
    failCommit: null,
    get rows() {
      return rows;
    },
    guarded: () => db,
    transact: (work) => {
      log.push('begin');
      undoing(() => {
        work();
        if (host.failCommit) throw host.failCommit;
      });
      log.push('commit');
    },
    schedule: (task) => void tasks.push(task),
    turn: () => {
      for (const task of tasks.splice(0)) task();
    },
    now: () => 0,
    random: (bytes) => new Uint8Array(bytes),
    onIncident: (error, { method }) => void log.push(`incident ${method}: ${String(error)}`),
  };
  return host;
}

/** Runs whatever a test hands it, under the unit's context. */
const scripted = (body: (context: UnitContext, input: string) => unknown) =>
  defineUnit({
    kind: 'scripted',
    migrations: [],
    queries: ['read'],
    open: (context) => ({
      run: (input: string) => body(context, input),
      read: (input: string) => body(context, input),
    }),
  });

let host: FakeHost;
const open = (body: (context: UnitContext, input: string) => unknown): RunningUnit => {
  const unit = openUnit(scripted(body), host, { create: true });
  host.log.length = 0;
  return unit;
};
const add = ({ db }: UnitContext, input: string) => db.run(input);

beforeEach(() => {
  host = makeHost();
});

const ok = { ok: true, value: undefined };

describe('a group', () => {
  test('is one transaction, and no caller hears of success before its commit', async () => {
    const unit = open(add);
    const heard: string[] = [];
    const calls = ['a', 'b', 'c'].map((input) =>
      unit.call('run', input).then((outcome) => {
        heard.push(input);
        return outcome;
      }),
    );
    await Promise.resolve();
    expect(heard).toEqual([]);
    expect(unit.idle).toBe(false);
    host.turn();
    expect(host.log).toEqual(['begin', 'commit']);
    expect(await Promise.all(calls)).toEqual([ok, ok, ok]);
    expect(heard).toEqual(['a', 'b', 'c']);
    expect(unit.idle).toBe(true);
  });

  test('has a bound, and what is over it goes into the next in order', async () => {
    const unit = open(add);
    const calls = Array.from({ length: 600 }, (_, i) => unit.call('run', `${i}`));
    host.turn();
    expect(host.rows).toHaveLength(256);
    host.turn();
    host.turn();
    await Promise.all(calls);
    expect(host.rows).toEqual(Array.from({ length: 600 }, (_, i) => `${i}`));
    expect(host.log.filter((line) => line === 'commit')).toHaveLength(3);
  });

  test('whose commit fails fails as a whole, keeps nothing, drops the caches and says so once', async () => {
    let drops = 0;
    const unit = openUnit(
      defineUnit({
        kind: 'cached',
        migrations: [],
        queries: [],
        open: (context) => {
          context.onRollback(() => {
            drops += 1;
          });
          return {
            run: (input: string) => {
              add(context, input);
              context.afterCommit(() => host.log.push('told the world'));
            },
          };
        },
      }),
      host,
      { create: true },
    );
    host.log.length = 0;
    host.failCommit = new Error('disk I/O error');
    const calls = [unit.call('run', 'a'), unit.call('run', 'b')];
    host.turn();
    const failure = { code: 'unavailable', reason: 'commit_failed', headers: { 'retry-after': '1' } };
    expect(await Promise.all(calls)).toMatchObject([
      { ok: false, failure },
      { ok: false, failure },
    ]);
    expect(host.rows).toEqual([]);
    expect(drops).toBe(1);
    expect(host.log).toEqual(['begin', 'incident run,run: Error: disk I/O error']);
    host.failCommit = null;
    const next = unit.call('run', 'c');
    host.turn();
    expect(await next).toEqual(ok);
  });

  test('fails as a whole when the transaction is lost in one call, also in what it writes instead', async () => {
    const lost = new TransactionLost('gone');
    const unit = open((context, input) => {
      add(context, input);
      if (input === 'lose') throw lost;
      if (input === 'lose instead')
        throw new RollbackThen(new PlatformError('forbidden', 'No.'), () => {
          throw lost;
        });
    });
    for (const losing of ['lose', 'lose instead']) {
      const calls = ['a', losing, 'b'].map((input) => unit.call('run', input));
      host.turn();
      expect((await Promise.all(calls)).every((outcome) => !outcome.ok)).toBe(true);
      expect(host.rows).toEqual([]);
    }
  });
});

describe('a call from inside a call', () => {
  test('is run in a later group, a query too, and sees only what was committed', async () => {
    const inner: Promise<Outcome>[] = [];
    const unit: RunningUnit = open((context, input) => {
      if (input === 'outer') {
        add(context, input);
        inner.push(unit.call('read', 'inner'), unit.call('run', 'inner'));
        unit.drain();
        expect(unit.idle).toBe(false);
      }
      return host.log.filter((line) => line === 'commit').length;
    });
    const outer = unit.call('run', 'outer');
    host.turn();
    expect(await outer).toEqual({ ok: true, value: 0 });
    host.turn();
    expect(await Promise.all(inner)).toEqual([
      { ok: true, value: 1 },
      { ok: true, value: 1 },
    ]);
  });
});

describe('a query', () => {
  test('that has no call before it runs at once, without a transaction', async () => {
    const unit = open(() => 'read');
    expect(await unit.call('read', '')).toEqual({ ok: true, value: 'read' });
    expect(host.log).toEqual([]);
  });

  test('waits behind a call that was made before it', async () => {
    const unit = open((context, input) => (input === 'count' ? host.rows.length : add(context, input)));
    const calls = [unit.call('run', 'a'), unit.call('read', 'count')];
    host.turn();
    expect((await Promise.all(calls))[1]).toEqual({ ok: true, value: 1 });
  });
});

describe('callers are answered', () => {
  test('when a roll-back task or the sink of incidents throws', async () => {
    const failing: UnitHost = {
      ...host,
      db: host.db,
      onIncident: () => {
        throw new Error('the sink is broken');
      },
    };
    const unit = openUnit(
      defineUnit({
        kind: 'broken',
        migrations: [],
        queries: [],
        open: (context) => {
          context.onRollback(() => {
            throw new Error('the cache is broken');
          });
          return {
            run: (input: string) => {
              if (input === 'fail') throw new Error('x');
              context.db.run(input);
            },
          };
        },
      }),
      failing,
      { create: true },
    );
    const calls = ['a', 'fail', 'b'].map((input) => unit.call('run', input));
    host.turn();
    expect((await Promise.all(calls)).map((outcome) => outcome.ok)).toEqual([true, false, true]);
    expect(host.rows).toEqual(['a', 'b']);
  });

  test('and an after-commit task that fails late or with a platform error is an incident', async () => {
    const unit = open((context, input) => {
      context.afterCommit(() => {
        if (input === 'now') throw new PlatformError('unavailable', 'Not now.');
        return Promise.reject(new Error('late')) as unknown as undefined;
      });
    });
    const calls = [unit.call('run', 'now'), unit.call('run', 'late')];
    host.turn();
    expect(await Promise.all(calls)).toEqual([ok, ok]);
    await Promise.resolve();
    expect(host.log).toEqual([
      'begin',
      'commit',
      'incident afterCommit: PlatformError: Not now.',
      'incident afterCommit: Error: late',
    ]);
  });
});

test('a unit whose first commit fails is unavailable, not broken', () => {
  host.failCommit = new Error('disk full');
  expect(() => open(add)).toThrow(expect.objectContaining({ code: 'unavailable', reason: 'commit_failed' }));
});
