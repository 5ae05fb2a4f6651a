/** Operations of the suite's vertical that do what a handler must not do: each way has a name, so that it can be asked for. */
import { type EntityRef, entityRef, PlatformError } from '@freehold/contracts';
import { RollbackThen } from '@freehold/store';
import { z } from 'zod';
import {
  defineOperations,
  type NewEvent,
  type OperationContext,
  operation,
} from '../../../kernel/src/vertical/vertical.ts';

const permission = 'library.browse';
const book: EntityRef = { type: 'book', id: 'b' };

function refusing(message: string): () => never {
  return () => {
    throw new Error(message);
  };
}

/** Values that `run` can throw. */
export const THROWN: Readonly<Record<string, () => unknown>> = {
  null: () => null,
  undefined: () => undefined,
  'a text': () => 'secret',
  'a symbol': () => Symbol('secret'),
  'an error': () => new Error('secret'),
  'a frozen error': () => Object.freeze(new Error('secret')),
  'a proxy that objects': () =>
    new Proxy(new Error('secret'), { get: refusing('get'), getPrototypeOf: refusing('prototype') }),
  'an error with throwing getters': () =>
    Object.defineProperties(new Error('x'), {
      message: { get: refusing('message') },
      stack: { get: refusing('stack') },
    }),
  'a platform error with a throwing code': () =>
    Object.defineProperty(new PlatformError('not_found', 'x'), 'code', { get: refusing('code') }),
  'a platform error with a code of its own': () => new PlatformError('made_up' as never, 'secret'),
  'a promise': () => Promise.resolve(),
  'the kernel’s own way to roll back': () => new RollbackThen(new Error('x'), () => undefined),
};

function circle(): unknown {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}

/** Outputs of `run` without a JSON form. */
export const ANSWERED: Readonly<Record<string, () => unknown>> = {
  'a Date': () => ({ at: new Date(0) }),
  'a bigint': () => ({ n: 1n }),
  NaN: () => ({ n: Number.NaN }),
  Infinity: () => [Number.POSITIVE_INFINITY],
  'a Map': () => new Map(),
  bytes: () => new Uint8Array(1),
  'a function': () => ({ toJSON: () => 'x' }),
  'a circle': circle,
  'a hole': () => [undefined],
  'a promise': () => Promise.resolve(1),
};

/** Events that are none. */
export const EMITTED: Readonly<Record<string, () => Record<string, unknown>>> = {
  'of an undeclared entity type': () => ({ entity: { type: 'boat', id: 'b' } }),
  'of an inherited entity type': () => ({ entity: { type: 'constructor', id: 'b' } }),
  'about nothing': () => ({ entity: undefined }),
  'of a malformed type': () => ({ type: 'Added' }),
  'without a type': () => ({ type: undefined }),
  'with a circle': () => ({ payload: circle() }),
  'with a Date': () => ({ payload: { at: new Date(0) } }),
  'with NaN': () => ({ payload: [Number.NaN] }),
  'with too much': () => ({ payload: 'x'.repeat(65_536) }),
  'about a person without a name': () => ({ piiClass: 'direct' }),
};

/** Uses of a context, by name: to be made while it is closed. */
const USES: Readonly<Record<string, (ctx: OperationContext) => unknown>> = {
  run: (ctx) => ctx.sql.run(`INSERT INTO notes VALUES ('a', 'late')`),
  get: (ctx) => ctx.sql.get('SELECT 1'),
  exec: (ctx) => ctx.sql.exec(`INSERT INTO notes VALUES ('a', 'late')`),
  savepoint: (ctx) => ctx.sql.savepoint(() => undefined),
  emit: (ctx) => ctx.emit({ type: 'book.added', entity: book }),
  can: (ctx) => ctx.can('book.read'),
  grant: (ctx) => ctx.grant({ subject: ctx.principal, permission: 'book.read' }),
  requestPlatform: (ctx) => ctx.requestPlatform('mail.send'),
  invoke: (ctx) => ctx.invoke('book/add', { title: 'late' }),
  newId: (ctx) => ctx.newId('book'),
};
let leaked: OperationContext | undefined;

const naughtyWrites = defineOperations({
  'test/throw': operation({
    summary: 'Write a note, and throw something',
    input: z.strictObject({ how: z.string() }),
    output: z.null(),
    permission,
    run: (ctx, { how }) => {
      ctx.sql.run('INSERT INTO notes (reader, text) VALUES (?, ?)', 'test', how);
      throw THROWN[how]?.();
    },
  }),
  'test/refuse': operation({
    summary: 'Write a note, and refuse in so many words',
    input: z.strictObject({}),
    output: z.null(),
    permission,
    run: (ctx) => {
      ctx.sql.run('INSERT INTO notes (reader, text) VALUES (?, ?)', 'test', 'refused');
      throw new PlatformError('invalid_transition', 'Not from here.', {
        reason: 'is_done',
        errors: [{ path: 'book', message: 'is done' }],
        cause: new Error('secret'),
      });
    },
  }),
  'test/answer': operation({
    summary: 'Write a note, and answer something',
    input: z.strictObject({ how: z.string() }),
    output: z.unknown(),
    permission,
    run: (ctx, { how }) => {
      ctx.sql.run('INSERT INTO notes (reader, text) VALUES (?, ?)', 'test', how);
      return ANSWERED[how]?.();
    },
  }),
  'test/emit': operation({
    summary: 'Write a note, and emit something',
    input: z.strictObject({ how: z.string() }),
    output: z.null(),
    permission,
    run: (ctx, { how }) => {
      ctx.sql.run('INSERT INTO notes (reader, text) VALUES (?, ?)', 'test', how);
      ctx.emit({ type: 'book.added', entity: book, ...EMITTED[how]?.() } as NewEvent);
      return null;
    },
  }),
  'test/about': operation({
    summary: 'Do nothing about a record',
    input: z.strictObject({ what: z.unknown() }),
    output: z.null(),
    permission,
    entity: ({ what }) => what as EntityRef,
    run: () => null,
  }),
});

const naughtyReaches = defineOperations({
  'test/sql': operation({
    summary: 'Run a statement of the vertical’s own',
    input: z.strictObject({ sql: z.string(), how: z.enum(['run', 'all', 'exec']).default('all') }),
    output: z.unknown(),
    permission,
    run: (ctx, { sql, how }) => ctx.sql[how](sql) ?? null,
  }),
  'test/read-sql': operation({
    summary: 'The same in an operation that only reads',
    input: z.strictObject({ sql: z.string() }),
    output: z.unknown(),
    permission,
    readOnly: true,
    run: (ctx, { sql }) => ctx.sql.all(sql),
  }),
  'test/swallow': operation({
    summary: 'Demand a permission, and go on when it is refused',
    input: z.strictObject({ permission: z.string() }),
    output: z.null(),
    permission,
    run: (ctx, { permission: demanded }) => {
      ctx.sql.run('INSERT INTO notes (reader, text) VALUES (?, ?)', 'test', 'swallowed');
      try {
        ctx.check(demanded);
      } catch {
        // As if nothing had happened.
      }
      return null;
    },
  }),
  'test/nest': operation({
    summary: 'Invoke an operation that fails after its work, and go on',
    input: z.strictObject({ operation: z.string(), input: z.unknown(), entity: entityRef }),
    output: z.null(),
    permission,
    run: (ctx, { operation: name, input, entity }) => {
      try {
        ctx.invoke(name, input);
      } catch {
        // Its work is gone; this operation's stays.
      }
      ctx.emit({ type: 'book.kept', entity });
      return null;
    },
  }),
  'test/keep': operation({
    summary: 'Keep the context for later',
    input: z.strictObject({}),
    output: z.null(),
    permission,
    run: (ctx) => {
      leaked = ctx;
      return null;
    },
  }),
  'test/use-kept': operation({
    summary: 'Use the context that was kept; answers how each use ended',
    input: z.strictObject({}),
    output: z.record(z.string(), z.string()),
    permission,
    run: () =>
      Object.fromEntries(
        Object.entries(USES).map(([name, use]) => {
          try {
            use(leaked as OperationContext);
            return [name, 'worked'];
          } catch (error) {
            return [name, String(error)];
          }
        }),
      ),
  }),
});

export const misbehaviour = { ...naughtyWrites, ...naughtyReaches };
