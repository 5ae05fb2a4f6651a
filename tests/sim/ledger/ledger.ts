/**
 * The vertical under simulation: accounts in regions, orders in accounts, invoices that a subscription drafts and an
 * executor sends. The input of an operation lists its steps (see `steps.ts`).
 */
import { type EntityRef, type EventRecord, type JsonValue, PlatformError } from '@freehold/contracts';
import {
  defineOperations,
  defineVertical,
  type ExecutorTools,
  type Operation,
  type OperationContext,
  operation,
  type Vertical,
} from '@freehold/kernel';
import { z } from 'zod';
import { type LedgerInput, type LedgerOutput, personsOf, type Said, type Step } from './steps.ts';

/** The outside systems that executors call. */
export interface Outside {
  deliver(executor: string, event: EventRecord, tools: ExecutorTools): Promise<void>;
}

const input = z.strictObject({
  ref: z.string(),
  id: z.string(),
  steps: z.array(z.unknown()),
  ends: z.enum(['well', 'promise', 'odd']),
});
const output = z.strictObject({ said: z.array(z.unknown()) });

/** The facts of an operation that kernel and model share. */
export interface LedgerOperation {
  readonly permission: string;
  /** The entity type of the operation, if it has one. */
  readonly entityType: 'account' | 'order' | null;
  readonly readOnly: boolean;
}

export const OPERATIONS: Readonly<Record<string, LedgerOperation>> = {
  'account/open': { permission: 'account.open', entityType: null, readOnly: false },
  'account/use': { permission: 'account.use', entityType: 'account', readOnly: false },
  'account/look': { permission: 'account.look', entityType: 'account', readOnly: true },
  'order/work': { permission: 'order.work', entityType: 'order', readOnly: false },
  'order/look': { permission: 'order.look', entityType: 'order', readOnly: true },
  'invoice/write': { permission: 'invoice.write', entityType: null, readOnly: false },
  'tally/make': { permission: 'tally.make', entityType: null, readOnly: false },
};

export const PERMISSIONS = [...new Set(Object.values(OPERATIONS).map(({ permission }) => permission))];

export const ROLES: Readonly<Record<string, readonly string[]>> = {
  owner: PERMISSIONS,
  clerk: ['account.open', 'account.use', 'order.work', 'order.look'],
  guest: ['order.look'],
};

export const SERVICES: Readonly<Record<string, readonly string[]>> = {
  biller: ['invoice.write'],
  nightly: ['tally.make'],
};

/** Entity type → its parent's. */
export const ENTITIES: Readonly<Record<string, string | null>> = {
  region: null,
  account: 'region',
  order: 'account',
  invoice: null,
};

/** The account that money comes from; its balance may be negative without limit. */
export const BANK = 'bank';

export interface LedgerSubscription {
  readonly on: readonly string[];
  readonly attemptsMax: number;
  readonly operation: string;
  readonly as: string;
  /** The operation's input for an event. */
  readonly input: (event: Pick<EventRecord, 'id' | 'payload'>) => unknown;
}

export const SUBSCRIPTIONS: Readonly<Record<string, LedgerSubscription>> = {
  invoicing: {
    on: ['order.completed', 'order.amended'],
    attemptsMax: 3,
    operation: 'invoice/write',
    as: 'biller',
    input: ({ id, payload }) => {
      const { then = [] } = payload as { then?: readonly Step[] };
      return inputOf(`invoice/${id}`, id, [
        { do: 'put', id: `invoice/${id}`, value: 'drafted' },
        ...then,
        {
          do: 'emit',
          type: 'invoice.drafted',
          entity: { type: 'invoice', id },
          payload: { text: id },
          person: null,
        },
      ]);
    },
  },
  noticing: {
    on: ['person.noted'],
    attemptsMax: 4,
    operation: 'invoice/write',
    as: 'biller',
    input: ({ id, payload }) => {
      const isErased = payload !== null && typeof payload === 'object' && '$shredded' in payload;
      return inputOf(`notice/${id}`, id, [
        { do: 'put', id: `notice/${id}`, value: isErased ? 'erased' : 'noted' },
      ]);
    },
  },
  /** Its input never fits. */
  picky: {
    on: ['order.cancelled'],
    attemptsMax: 2,
    operation: 'invoice/write',
    as: 'biller',
    input: ({ id }) => ({ event: id }),
  },
};

export interface LedgerExecutor {
  readonly on: readonly string[];
  readonly attemptsMax: number;
  readonly timeoutMs: number;
  readonly as: string;
}

export const EXECUTORS: Readonly<Record<string, LedgerExecutor>> = {
  courier: { on: ['invoice.drafted'], attemptsMax: 3, timeoutMs: 4_000, as: 'biller' },
  mirror: { on: ['money.debited', 'person.noted'], attemptsMax: 4, timeoutMs: 60_000, as: 'biller' },
};

/** A low limit, so that a run reaches the end of a chain. */
export const CHAIN_MAX = 4;

export interface LedgerSchedule {
  readonly cron: string;
  /** The cron expression as the model reads it: the period, and the offset from its multiples. */
  readonly everyMs: number;
  readonly offsetMs: number;
  readonly operation: string;
  readonly as: string;
  readonly input: LedgerInput;
}

const HOUR_MS = 3_600_000;

export const SCHEDULES: Readonly<Record<string, LedgerSchedule>> = {
  hourly: {
    cron: '0 * * * *',
    everyMs: HOUR_MS,
    offsetMs: 0,
    operation: 'tally/make',
    as: 'nightly',
    input: inputOf('hourly', BANK, [
      {
        do: 'emit',
        type: 'tally.made',
        entity: { type: 'account', id: BANK },
        payload: { text: 'hourly' },
        person: null,
      },
    ]),
  },
  /** It always tries an operation that its service may not call. */
  presumptuous: {
    cron: '30 3 * * *',
    everyMs: 24 * HOUR_MS,
    offsetMs: 3.5 * HOUR_MS,
    operation: 'tally/make',
    as: 'nightly',
    input: inputOf('presumptuous', BANK, [
      { do: 'put', id: 'presumptuous', value: 'yes' },
      { do: 'check', permission: 'account.use', entity: null, caught: true },
    ]),
  },
};

export function inputOf(
  ref: string,
  id: string,
  steps: readonly Step[],
  ends: LedgerInput['ends'] = 'well',
): LedgerInput {
  return { ref, id, steps, ends };
}

const MIGRATION = `
CREATE TABLE accounts (id TEXT PRIMARY KEY, balance INTEGER NOT NULL) STRICT;
CREATE TABLE notes (id TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE kept (place TEXT PRIMARY KEY, person TEXT NOT NULL, sealed TEXT NOT NULL) STRICT;
CREATE TABLE people (person TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT;
INSERT INTO accounts (id, balance) VALUES ('${BANK}', 0);
`;

export function makeLedger(outside: Outside): Vertical {
  return defineVertical({
    manifest: {
      slug: 'ledger',
      name: 'Ledger',
      version: '1.0.0',
      permissions: Object.fromEntries(PERMISSIONS.map((permission) => [permission, permission])),
      roles: mapValues(ROLES, (permissions, name) => ({ name, permissions: [...permissions] })),
      ownerRole: 'owner',
      entities: mapValues(ENTITIES, (parent) => (parent === null ? {} : { parent })),
      services: mapValues(SERVICES, (permissions, name) => ({ name, permissions: [...permissions] })),
      env: {},
    },
    migrations: [{ version: 1, name: 'accounts, notes and people', sql: MIGRATION }],
    operations: defineOperations(mapValues(OPERATIONS, declare)),
    subscriptions: SUBSCRIPTIONS,
    executors: mapValues(EXECUTORS, (executor, name) => ({
      ...executor,
      run: (event: EventRecord, tools: ExecutorTools) => outside.deliver(name, event, tools),
    })),
    chainMax: CHAIN_MAX,
    schedules: mapValues(SCHEDULES, ({ cron, operation, as, input }) => ({ cron, operation, as, input })),
    onShred: ({ sql }, person) => sql.run('DELETE FROM people WHERE person = ?', person),
    reseal: ({ sql, reseal }) => {
      for (const { place, person, sealed } of sql.all<{ place: string; person: string; sealed: string }>(
        'SELECT place, person, sealed FROM kept',
      )) {
        const anew = reseal(person, place, sealed);
        if (anew === null) sql.run('DELETE FROM kept WHERE place = ?', place);
        else sql.run('UPDATE kept SET sealed = ? WHERE place = ?', anew, place);
      }
    },
  });
}

function declare({ permission, entityType, readOnly }: LedgerOperation, name: string): Operation {
  return operation({
    summary: name,
    input,
    output,
    permission,
    readOnly,
    subjects: ({ steps }, read) =>
      personsOf(
        steps as readonly Step[],
        (place) => read.get<{ person: string }>('SELECT person FROM kept WHERE place = ?', place)?.person,
      ),
    // The operations know all persons by name, and make none.
    newSubjects: () => 0,
    ...(entityType === null
      ? {}
      : { entity: ({ id }: { id: string }): EntityRef => ({ type: entityType, id }) }),
    run: (ctx, { steps, ends }) => {
      const said: Said[] = [];
      perform(ctx, steps as readonly Step[], said);
      if (ends === 'promise') return Promise.resolve({ said }) as never;
      return (ends === 'odd' ? { odd: said } : { said }) satisfies object as LedgerOutput as never;
    },
  }) as Operation;
}

function perform(ctx: OperationContext, steps: readonly Step[], said: Said[]): void {
  for (const step of steps) performOne(ctx, step, said);
}

function performOne(ctx: OperationContext, step: Step, said: Said[]): void {
  switch (step.do) {
    case 'put':
      ctx.sql.run('INSERT OR REPLACE INTO notes (id, value) VALUES (?, ?)', step.id, step.value);
      return;
    case 'read':
      said.push(
        ctx.sql.get<{ value: string }>('SELECT value FROM notes WHERE id = ?', step.id)?.value ?? null,
      );
      return;
    case 'open':
      ctx.sql.run('INSERT INTO accounts (id, balance) VALUES (?, 0)', step.account);
      emit(ctx, 'account.opened', { type: 'account', id: step.account }, { text: step.account });
      return;
    case 'move':
      move(ctx, step);
      return;
    case 'balance':
      said.push(balanceOf(ctx, step.account));
      return;
    case 'emit':
      ctx.emit({
        type: step.type,
        entity: step.entity,
        payload: step.payload as unknown as JsonValue,
        ...(step.person === null ? {} : { piiClass: 'direct' as const, subject: step.person }),
      });
      return;
    case 'invoke':
      caught(step.caught, () => void ctx.invoke(step.operation, step.input));
      return;
    case 'undone':
      caught(true, () =>
        ctx.sql.savepoint(() => {
          perform(ctx, step.steps, said);
          throw new Error('undone');
        }),
      );
      return;
    case 'check':
      caught(step.caught, () => void ctx.check(step.permission, step.entity ?? undefined));
      return;
    case 'can':
      said.push(ctx.can(step.permission, step.entity ?? undefined));
      return;
    case 'reach': {
      const reach = ctx.reach(step.permission, step.entityType);
      said.push(reach === 'all' ? reach : [...reach].sort());
      return;
    }
    case 'grant':
      ctx.grant({
        subject: step.subject as never,
        permission: step.permission,
        ...(step.entity === null ? {} : { entity: step.entity }),
        ...(step.expiresAtMs === null ? {} : { expiresAtMs: step.expiresAtMs }),
      });
      return;
    case 'revoke':
      ctx.revoke({
        subject: step.subject as never,
        permission: step.permission,
        ...(step.entity === null ? {} : { entity: step.entity }),
      });
      return;
    case 'place':
      ctx.setParent(step.entity, step.parent);
      return;
    case 'ask':
      ctx.requestPlatform(step.kind, step.payload);
      return;
    case 'keep': {
      const sealed = ctx.seal(step.person, step.place, step.value);
      ctx.sql.run(
        'INSERT OR REPLACE INTO kept (place, person, sealed) VALUES (?, ?, ?)',
        step.place,
        step.person,
        sealed,
      );
      ctx.sql.run(
        'INSERT OR REPLACE INTO people (person, name) VALUES (?, ?)',
        step.person,
        `name of ${step.person}`,
      );
      return;
    }
    case 'unseal': {
      const row = ctx.sql.get<{ person: string; sealed: string }>(
        'SELECT person, sealed FROM kept WHERE place = ?',
        step.place,
      );
      said.push(row ? (ctx.unseal(row.person, step.place, row.sealed) as string | null) : null);
      return;
    }
    case 'setting':
      said.push(ctx.settings[step.key] ?? null);
      return;
    case 'until':
      if (ctx.now < step.atMs) throw new PlatformError('conflict', 'Not yet.', { reason: 'not_yet' });
      return;
    case 'fail':
      if (step.how === 'conflict')
        throw new PlatformError('conflict', 'As it was told.', { reason: 'told_to' });
      throw step.how === 'error' ? new Error('as it was told') : null;
  }
}

function move(ctx: OperationContext, { from, to, amount, torn }: Extract<Step, { do: 'move' }>): void {
  const balance = balanceOf(ctx, from);
  if (balance === null || balanceOf(ctx, to) === null)
    throw new PlatformError('not_found', 'There is no such account.', { reason: 'no_account' });
  if (from !== BANK && balance < amount)
    throw new PlatformError('conflict', 'There is not enough in it.', { reason: 'not_enough' });
  ctx.sql.run('UPDATE accounts SET balance = balance - ? WHERE id = ?', amount, from);
  emit(ctx, 'money.debited', { type: 'account', id: from }, { text: `${amount}` });
  if (torn) throw new Error('torn between two writes');
  ctx.sql.run('UPDATE accounts SET balance = balance + ? WHERE id = ?', amount, to);
  emit(ctx, 'money.credited', { type: 'account', id: to }, { text: `${amount}` });
}

function balanceOf(ctx: OperationContext, account: string): number | null {
  return (
    ctx.sql.get<{ balance: number }>('SELECT balance FROM accounts WHERE id = ?', account)?.balance ?? null
  );
}

function emit(ctx: OperationContext, type: string, entity: EntityRef, payload: { text: string }): void {
  ctx.emit({ type, entity, payload });
}

/** Catches even a refusal, which the vertical cannot undo. */
function caught(isCaught: boolean, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isCaught) throw error;
  }
}

function mapValues<T, U>(
  record: Readonly<Record<string, T>>,
  map: (value: T, key: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
