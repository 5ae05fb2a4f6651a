/**
 * Every declared operation has exactly one performer, and its declaration chooses it where no part claims it. That each one
 * does what it is declared to do over the real directory: `access/admission.test.ts`.
 */
import { isList } from '@freehold/operations';
import { describe, expect, test } from 'vitest';
import type { AdminCall } from '../access/actors.ts';
import { type AdminOperation, adminOperations } from '../admin-operations.ts';
import {
  type DeclaredPerformers,
  found,
  makePerformers,
  type Performer,
  type Performers,
} from './performers.ts';

const OPERATIONS: readonly AdminOperation[] = Object.values(adminOperations);
const isLong = ({ success }: AdminOperation) => success === 202;

/** Answers with its name. */
const named =
  (name: string): Performer =>
  async () =>
    found(name);

const declared: DeclaredPerformers = {
  longWork: {
    performs: (name) => OPERATIONS.some((operation) => operation.name === name && isLong(operation)),
    perform: named('long work'),
  },
  plan: named('plan'),
  own: { audit: named('change'), access: named('logged read'), none: named('read') },
};

const OWN = { audit: 'change', access: 'logged read', none: 'read' };

async function performedBy(
  operation: AdminOperation,
  { parts = [], query = {} }: { parts?: readonly Performers[]; query?: AdminCall['query'] } = {},
): Promise<unknown> {
  const performed = makePerformers(adminOperations, parts, declared).get(operation.name);
  const call = { operation: operation.name, params: {}, query, body: {} } as unknown as AdminCall;
  return (await performed?.perform(call, operation))?.value;
}

test('the table has every declared operation once, and nothing else', () => {
  const table = makePerformers(adminOperations, [], declared);
  expect([...table.keys()].sort()).toEqual(Object.keys(adminOperations).sort());
  for (const [name, { operation }] of table) expect(operation.name).toBe(name);
});

describe.each(OPERATIONS)('$name', (operation) => {
  const own = isLong(operation) ? 'long work' : OWN[operation.audit];

  test('is performed as it is declared', async () => {
    expect(await performedBy(operation)).toBe(own);
  });

  test('answers its plan where it has one; long work plans by itself', async () => {
    const planned = operation.plan && !isLong(operation) ? 'plan' : own;
    expect(await performedBy(operation, { query: { dryRun: true } })).toBe(planned);
    expect(await performedBy(operation, { query: { dryRun: false } })).toBe(own);
  });
});

test.each(OPERATIONS.filter(({ input, output }) => isList(input.query, output)))(
  '$name takes and gives out only cursors that carry its name',
  async ({ name }) => {
    const asked: unknown[] = [];
    const list: Performer = async ({ query }) => {
      asked.push(query.cursor);
      return found({ items: [], nextCursor: 'Mg' });
    };
    const turn = (query: AdminCall['query']) => {
      const performed = makePerformers(adminOperations, [{ [name]: list }], declared).get(name);
      const call = { operation: name, params: {}, query, body: {} } as unknown as AdminCall;
      return performed?.perform(call, performed.operation);
    };
    const page = await turn({});
    expect(page?.value).toEqual({ items: [], nextCursor: `${name}~Mg` });
    await turn({ cursor: `${name}~Mg` });
    expect(asked).toEqual([undefined, 'Mg']);
    for (const cursor of ['other.list~Mg', 'Mg'])
      await expect(turn({ cursor })).rejects.toMatchObject({
        code: 'validation_failed',
        errors: [{ path: 'cursor', message: 'is not one that this list gave out' }],
      });
    expect(asked).toHaveLength(2);
  },
);

test('a part performs what it claims, and its plan is a plan all the same', async () => {
  const parts = [{ 'channels.promote': named('registry') }, { 'issues.list': named('issues') }];
  expect(await performedBy(adminOperations['channels.promote'], { parts })).toBe('registry');
  expect(await performedBy(adminOperations['issues.list'], { parts })).toBe('issues');
  expect(await performedBy(adminOperations['channels.promote'], { parts, query: { dryRun: true } })).toBe(
    'plan',
  );
  expect(await performedBy(adminOperations['issues.set-status'], { parts })).toBe('change');
});

describe('there is no table', () => {
  const make = (parts: readonly Performers[], longWork = declared.longWork) =>
    makePerformers(adminOperations, parts, { ...declared, longWork });

  test.each(['roles.put', 'tenants.reap'])('where two parts claim %s', (name) => {
    const claim = { [name]: named('one') };
    expect(() => make([claim, { ...claim }])).toThrow(`${name} is there twice`);
  });

  test('where a part claims long work', () => {
    expect(() => make([{ 'tenants.reap': named('one') }])).toThrow('tenants.reap is there twice');
  });

  test('where a part claims what is not declared', () => {
    expect(() => make([{ 'roles.polish': named('one') }])).toThrow('there is no operation roles.polish');
    expect(() => make([{ constructor: named('one') }])).toThrow('there is no operation constructor');
  });

  test('where long work has no performer, or a performer is not declared as long work', () => {
    const { perform, performs } = declared.longWork;
    const without = { perform, performs: (name: string) => performs(name) && name !== 'scopes.reap' };
    expect(() => make([], without)).toThrow('the long work scopes.reap has no performer');
    const beside = { perform, performs: (name: string) => performs(name) || name === 'roles.put' };
    expect(() => make([], beside)).toThrow('roles.put is not declared as long work');
  });
});
