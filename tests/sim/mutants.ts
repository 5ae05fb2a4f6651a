/** Platforms with one defect each. Every invariant has at least one that breaks it and must be found. */
import { PlatformError } from '@freehold/contracts';
import {
  type Admission,
  type Admit,
  admissionOf,
  RollbackThen,
  type SqlDatabase,
  type UnitContext,
  type UnitDefinition,
  type UnitMethods,
  type UnitTools,
} from '@freehold/store';
import type { Feature } from './actions.ts';
import type { EngineUnderTest } from './engine/engine-under-test.ts';
import type { Invariant } from './lib/violation.ts';
import type { Mutant } from './mutant.ts';

export interface NamedMutant {
  readonly name: string;
  /** Any of these may be noticed first. */
  readonly violates: readonly Invariant[];
  readonly mutant: Mutant;
  /** Actions that must happen often before the defect shows. */
  readonly often?: readonly Feature[];
}

export const MUTANTS: readonly NamedMutant[] = [
  {
    name: 'an engine that acknowledges before it commits',
    violates: ['acknowledged_is_durable', 'history', 'denials', 'deliveries'],
    mutant: { database: lazyCommit },
  },
  {
    name: 'a disk that lies about what is synchronised',
    violates: ['acknowledged_is_durable', 'all_or_nothing', 'rewind', 'copies'],
    often: ['power'],
    mutant: { liesAboutSync: true },
  },
  {
    name: 'an engine that keeps what a failed call had written',
    violates: ['all_or_nothing', 'rewind', 'copies'],
    mutant: {
      database: (database) => ({ ...database, db: { ...database.db, savepoint: (work) => work() } }),
    },
  },
  {
    name: 'an engine that keeps a group and says that it did not',
    violates: ['all_or_nothing', 'history', 'denials', 'deliveries', 'outcome'],
    often: ['disk'],
    mutant: { database: keepWhatFailed },
  },
  {
    name: 'an engine that changes the order of calls',
    violates: ['calls_in_order'],
    mutant: { engine: delayCalls },
  },
  {
    name: 'an engine that runs a call twice',
    violates: ['calls_in_order'],
    mutant: { engine: repeatCalls },
  },
  {
    name: 'a scope that does everything twice',
    violates: ['history', 'outcome'],
    mutant: {
      definition: aroundMethod('invoke', (method, input) => {
        method(input);
        return method(input);
      }),
    },
  },
  {
    name: 'a scope whose ids do not follow one another',
    violates: ['history', 'deliveries', 'denials'],
    mutant: { definition: withContext(scrambleIds) },
  },
  {
    name: 'a scope that forgets that a key was used',
    violates: ['outcome', 'history', 'acknowledged_is_durable'],
    mutant: {
      definition: afterMethod('invoke', (db) => db.run('DELETE FROM _spine_idempotency')),
    },
  },
  {
    name: 'a scope that remembers permissions from a group that was lost',
    violates: ['outcome', 'denials'],
    often: ['disk', 'roles'],
    mutant: { definition: withContext((context) => ({ ...context, onRollback: () => undefined })) },
  },
  {
    name: 'a scope that loses refusals',
    violates: ['denials'],
    mutant: {
      definition: aroundMethod('invoke', (method, input) => {
        try {
          return method(input);
        } catch (error) {
          throw error instanceof RollbackThen ? error.error : error;
        }
      }),
    },
  },
  {
    name: 'a scope that loses a delivery',
    violates: ['deliveries', 'acknowledged_is_durable'],
    mutant: {
      definition: afterMethod('invoke', (db) =>
        db.run('DELETE FROM _spine_deliveries WHERE event = (SELECT max(event) FROM _spine_deliveries)'),
      ),
    },
  },
  {
    name: 'a scope that brings the newest event first',
    violates: ['deliveries'],
    mutant: { database: newestFirst },
  },
  {
    name: 'a scope that takes a delivery for done when it lends it',
    violates: ['deliveries'],
    mutant: {
      definition: afterMethod('work', (db) => db.run('DELETE FROM _spine_deliveries WHERE attempts > 0')),
    },
  },
  {
    name: 'a runner that is never woken',
    violates: ['liveness'],
    mutant: { sleeps: true },
  },
  {
    name: 'a rewind that lands one commit too early',
    violates: ['rewind'],
    often: ['rewind'],
    mutant: { engine: withTools(landElsewhere) },
  },
  {
    name: 'a rewind that says it failed, and did not',
    violates: ['rewind'],
    often: ['rewind'],
    mutant: {
      engine: withTools((tools) => ({
        ...tools,
        rewind: async (target, admit) => {
          await tools.rewind(target, admit);
          throw failed();
        },
      })),
    },
  },
  {
    name: 'a restore that leaves out a row',
    violates: ['copies'],
    often: ['copies'],
    mutant: {
      engine: withTools((tools) => ({
        ...tools,
        restore: (format, body, admit) =>
          tools.restore(
            format,
            body,
            afterwards(admit, (db) =>
              db.run('DELETE FROM _spine_invocations WHERE id = (SELECT max(id) FROM _spine_invocations)'),
            ),
          ),
      })),
    },
  },
  {
    name: 'a restore that takes what belongs to another tenant',
    violates: ['copies'],
    often: ['copies'],
    mutant: {
      engine: withTools((tools) => ({
        ...tools,
        restore: (format, body, admit) =>
          tools.restore(
            format,
            body,
            aroundAdmission(admit, (judge, db) => unlessForeign(() => judge(db))),
          ),
      })),
    },
  },
  {
    name: 'a scope that does not ask who was erased while an older state was on its way',
    violates: ['erasure', 'history', 'rewind'],
    often: ['shred', 'rewind'],
    mutant: {
      definition: aroundMethod('redactPendingErasures', (method, input) =>
        method({ ...(input as object), receipts: [] }),
      ),
    },
  },
  {
    name: 'an older state that comes back without a mark, as if no person could have been erased meanwhile',
    violates: ['rewind', 'copies'],
    often: ['rewind', 'copies'],
    mutant: {
      engine: withTools((tools) => ({
        ...tools,
        rewind: (target, admit) => tools.rewind(target, unmarked(admit)),
        restore: (format, body, admit) => tools.restore(format, body, unmarked(admit)),
      })),
    },
  },
  {
    name: 'a scope that drops stored answers when a person is erased',
    violates: ['outcome', 'history', 'acknowledged_is_durable'],
    often: ['shred'],
    mutant: {
      definition: afterMethod('redact', (db) =>
        db.run('DELETE FROM _spine_idempotency WHERE subjects IS NOT NULL'),
      ),
    },
  },
  {
    name: 'a vault that keeps the key of an erased person',
    violates: ['erasure'],
    often: ['shred'],
    mutant: {
      vault: (vault) => ({
        ...vault,
        shred: async (_scope, subject) => ({
          subject,
          keyDigest: null,
          shreddedAt: '2026-01-01T00:00:00.000Z',
        }),
      }),
    },
  },
  {
    name: 'a vault that forgets who was erased when an older state comes back',
    violates: ['erasure', 'rewind', 'copies'],
    often: ['shred', 'rewind'],
    mutant: { vault: (vault) => ({ ...vault, shredded: async () => [] }) },
  },
];

type Database = Parameters<NonNullable<Mutant['database']>>[0];

/** Commits each group when the next one begins. */
function lazyCommit(database: Database): Database {
  let isOpen = false;
  const commit = (): void => {
    if (isOpen) database.db.exec('COMMIT');
    isOpen = false;
  };
  return {
    ...database,
    transact: (work) => {
      commit();
      database.db.exec('BEGIN IMMEDIATE');
      isOpen = true;
      try {
        work();
      } catch (error) {
        isOpen = false;
        database.db.exec('ROLLBACK');
        throw error;
      }
    },
    close: () => {
      commit();
      database.close();
    },
  };
}

function keepWhatFailed(database: Database): Database {
  return {
    ...database,
    transact: (work) => {
      let failure: unknown;
      database.transact(() => {
        try {
          work();
        } catch (error) {
          if (!(error instanceof Error) || error.message !== 'the disk failed') throw error;
          failure = error;
        }
      });
      if (failure) throw failure;
    },
  };
}

/** Makes the head of a lane its tail. */
function newestFirst(database: Database): Database {
  const turn = (sql: string): string =>
    sql.includes('FROM _spine_deliveries')
      ? sql.replace('ORDER BY event LIMIT', 'ORDER BY event DESC LIMIT')
      : sql;
  return {
    ...database,
    db: {
      ...database.db,
      get: (sql, ...params) => database.db.get(turn(sql), ...params),
      all: (sql, ...params) => database.db.all(turn(sql), ...params),
    },
  };
}

/** Every fifth call arrives a little later than calls that were made after it. */
function delayCalls(engine: EngineUnderTest): EngineUnderTest {
  let made = 0;
  return aroundCalls(engine, async (call) => {
    made += 1;
    if (made % 5 === 0) for (let turns = 0; turns < 20; turns++) await Promise.resolve();
    return call();
  });
}

function repeatCalls(engine: EngineUnderTest): EngineUnderTest {
  let made = 0;
  return aroundCalls(engine, (call) => {
    made += 1;
    if (made % 50 === 0) call().catch(() => undefined);
    return call();
  });
}

function aroundCalls(
  engine: EngineUnderTest,
  around: (call: () => Promise<unknown>) => Promise<unknown>,
): EngineUnderTest {
  return {
    ...engine,
    unit: (definition, key, options) => {
      const stub = engine.unit(definition, key, options);
      return new Proxy(stub, {
        get: (target, name) => {
          const method: unknown = Reflect.get(target, name);
          return typeof method === 'function' ? (input: unknown) => around(() => method(input)) : method;
        },
      });
    },
  };
}

function withTools(change: (tools: UnitTools) => UnitTools): (engine: EngineUnderTest) => EngineUnderTest {
  return (engine) => ({ ...engine, tools: (definition, key) => change(engine.tools(definition, key)) });
}

/** Rewinds to the bookmark before the requested one, and hides it. */
function landElsewhere(tools: UnitTools): UnitTools {
  return {
    ...tools,
    rewind: async (target, admit) => {
      const { items } = await tools.bookmarks({ limit: 200 });
      const at = 'bookmark' in target ? items.findIndex(({ bookmark }) => bookmark === target.bookmark) : -1;
      const wrong = items[at + 1] ?? items[at];
      if (!wrong || !('bookmark' in target)) return tools.rewind(target, admit);
      return { ...(await tools.rewind({ bookmark: wrong.bookmark }, admit)), bookmark: target.bookmark };
    },
  };
}

/** Wraps the reads and writes of the same judge. */
function aroundAdmission(
  admit: Admit | Admission | undefined,
  around: (judge: (staged: SqlDatabase) => unknown, staged: SqlDatabase) => void,
): Admission {
  const admission = admissionOf(admit);
  return {
    look: (staged) => {
      let seen: unknown;
      around((each) => {
        seen = admission.look(each);
      }, staged);
      return seen ?? { scopeId: null, subjects: [] };
    },
    prepare: (seen) => admission.prepare(seen),
    admit: (staged) => around(admission.admit, staged),
  };
}

function afterwards(admit: Admit | Admission | undefined, work: (staged: SqlDatabase) => void): Admission {
  const admission = admissionOf(admit);
  return {
    ...admission,
    admit: (staged) => {
      admission.admit(staged);
      work(staged);
    },
  };
}

function unmarked(admit: Admit | Admission | undefined): Admission {
  return afterwards(admit, (staged) => staged.run('UPDATE _spine_scope SET latecomers = NULL'));
}

/** Swallows the objection that a copy belongs to another scope. */
function unlessForeign(judge: () => void): void {
  try {
    judge();
  } catch (error) {
    if (!(error instanceof PlatformError) || error.reason !== 'copy_foreign') throw error;
  }
}

function failed(): PlatformError {
  return new PlatformError('unavailable', 'It failed.', { reason: 'storage_failed' });
}

type Method = (input: unknown) => unknown;

/** Wraps one method of the scopes. */
function aroundMethod(
  name: string,
  around: (method: Method, input: unknown, db: SqlDatabase) => unknown,
): NonNullable<Mutant['definition']> {
  return (definition) => ({
    ...definition,
    open: (context) => {
      const methods = definition.open(context);
      const method = methods[name];
      if (!method || !definition.kind.startsWith('scope-')) return methods;
      return { ...methods, [name]: (input: unknown) => around(method, input, context.db) };
    },
  });
}

function afterMethod(name: string, after: (db: SqlDatabase) => void): NonNullable<Mutant['definition']> {
  return aroundMethod(name, (method, input, db) => {
    const value = method(input);
    after(db);
    return value;
  });
}

function withContext(change: (context: UnitContext) => UnitContext): NonNullable<Mutant['definition']> {
  return <M extends UnitMethods>(definition: UnitDefinition<M>) => ({
    ...definition,
    open: (context: UnitContext) =>
      definition.open(definition.kind.startsWith('scope-') ? change(context) : context),
  });
}

/** Every seventh id sorts before all others. */
function scrambleIds(context: UnitContext): UnitContext {
  let made = 0;
  const newId = (prefix: string): string => {
    const id = context.newId(prefix);
    made += 1;
    return made % 7 === 0 ? `${prefix}_0000000000${id.slice(-16)}` : id;
  };
  return { ...context, newId: Object.assign(newId, { observe: context.newId.observe }) };
}
