import { PlatformError } from '@freehold/contracts';
import type { RoutesChange } from '@freehold/directory';
import { fieldwork } from '@freehold/fieldwork';
import type { ScopeHost } from '@freehold/kernel';
import { describe, expect, test } from 'vitest';
import type { FleetScope } from '../applications/operator.ts';
import { Deliveries } from './deliveries.ts';

const vertical = fieldwork.vertical;
const EVERYTHING: RoutesChange = { tenant: null, scope: null, vertical: null };
const about = (scope: string, tenant = 'tnt_a') =>
  ({ tenant, scope, vertical: 'fieldwork' }) as unknown as RoutesChange;
const aboutTenant = (tenant = 'tnt_a') =>
  ({ tenant, scope: null, vertical: null }) as unknown as RoutesChange;

interface Parts {
  readonly settled?: number;
  readonly resting?: readonly string[];
  readonly due?: readonly string[];
  readonly unsure?: readonly string[];
  /** Whether the idle scopes were marked under another build. */
  readonly changed?: boolean;
  /** Called before marks are read; it may throw. */
  readonly reading?: () => void;
  /** Called before scopes are marked; it may throw. */
  readonly settling?: () => void;
}

/** A fleet of scopes that only count how often they are looked into, and how many records were read. */
function open(scopes: () => readonly FleetScope[], parts: Parts = {}) {
  const { settled = 0, resting = [], due = [], unsure = [], changed = false } = parts;
  const { reading = () => undefined, settling = () => undefined } = parts;
  const looks: string[] = [];
  const worked: string[] = [];
  const unsettled: string[] = [];
  const incidents: unknown[] = [];
  const listed = { records: 0 };
  const markings: number[] = [];
  const timers: (() => void)[] = [];
  const atRest = new Set(resting);
  const dueYet = [...due];
  const scope = (scopeId: string) => ({
    work: async () => {
      looks.push(scopeId);
      return { settled, claimed: [], nextAtMs: null };
    },
  });
  const ofVertical = (ids: readonly string[]) => ids.map((id) => ({ scope: id, vertical: 'fieldwork' }));
  async function* list(keep: (each: FleetScope) => boolean) {
    for (const each of scopes().filter(keep)) {
      listed.records += 1;
      yield each;
    }
  }
  const deliveries = new Deliveries({
    verticals: new Map([
      ['fieldwork', { vertical, build: 'b1', host: { scope, attachments: {} } as unknown as ScopeHost }],
    ]),
    fleet: {
      scopes: () => list(() => true),
      scopesOf: (tenant) => list((each) => each.tenant === tenant),
      scope: async ({ scope: id }) => {
        listed.records += 1;
        return scopes().find((each) => each.scope === id) ?? null;
      },
    },
    idleScopes: {
      marked: async (asked) => {
        reading();
        return new Map(asked.filter((each) => atRest.has(each.scope)).map((each) => [each.scope, !changed]));
      },
      // A due scope is returned once.
      takeDue: async () => ({ items: ofVertical(dueYet.splice(0)), nextAtMs: null }),
      settle: async ({ quietMs }) => {
        settling();
        markings.push(quietMs);
        return ofVertical(unsure);
      },
    },
    now: () => 0,
    onIncident: (error) => incidents.push(error),
    onWorked: (slug, scopeId) => worked.push(`${slug} ${scopeId}`),
    onUnsettled: ({ scope: id }) => unsettled.push(id),
    after: (_ms, task) => {
      timers.push(task);
      return () => undefined;
    },
  });
  /** Runs all tasks that are due. */
  const pass = async () => {
    for (const task of timers.splice(0)) task();
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  };
  return { deliveries, looks, incidents, worked, unsettled, listed, markings, pass };
}

const each = (scope: string, serving = true, of = 'fieldwork', tenant = 'tnt_a'): FleetScope => ({
  tenant,
  scope,
  vertical: of,
  serving,
});

/** Ten thousand scopes of a hundred tenants. */
const many = (serving: (scope: string) => boolean = () => true): FleetScope[] =>
  Array.from({ length: 10_000 }, (_, index) =>
    each(`s${index}`, serving(`s${index}`), 'fieldwork', `tnt_${index % 100}`),
  );

test('an error that an executor throws is an incident of its scope, once', async () => {
  const wheres: unknown[] = [];
  const failure = new TypeError('the door is locked');
  let attempt = 0;
  const event = { id: 'evt_1', type: 'order.completed' };
  const scope = () => ({
    work: async () => {
      attempt += 1;
      const claimed = attempt > 2 ? [] : [{ subscriber: 'courier', event, attempt, claim: attempt }];
      return { settled: 0, claimed, nextAtMs: null };
    },
    settle: async () => ({ settled: true }),
  });
  const run = async () => {
    throw failure;
  };
  const working = {
    ...vertical,
    executors: { courier: { on: [event.type], as: 'assistant', run } },
  };
  const deliveries = new Deliveries({
    verticals: new Map([
      [
        'fieldwork',
        { vertical: working, build: 'b1', host: { scope, attachments: {} } as unknown as ScopeHost },
      ],
    ]),
    fleet: {
      scopes: () => list([each('scp_1')]),
      scopesOf: () => list([]),
      scope: async () => null,
    },
    idleScopes: {
      marked: async () => new Map(),
      takeDue: async () => ({ items: [], nextAtMs: null }),
      settle: async () => [],
    },
    now: () => 0,
    onIncident: (error, where) => wheres.push([error, where]),
    after: () => () => undefined,
  });
  await deliveries.resume();
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  await deliveries.stop();
  expect(attempt).toBeGreaterThan(2);
  expect(wheres).toEqual([[failure, { kind: 'scope-fieldwork', key: 'scp_1', method: 'courier' }]]);
});

async function* list(scopes: readonly FleetScope[]) {
  yield* scopes;
}

test('a start looks into every scope that serves and is not idle, and into no other', async () => {
  const { deliveries, looks, unsettled } = open(
    () => [each('a'), each('b', false), each('c', true, 'other'), each('d'), each('e')],
    { resting: ['d'] },
  );
  await deliveries.resume();
  await deliveries.stop();
  expect(looks).toEqual(['a', 'e']);
  expect(unsettled).toEqual(['a', 'b', 'e']);
});

test('under another build idle scopes are looked into, and were idle all the same', async () => {
  const { deliveries, looks, unsettled } = open(() => [each('a'), each('b')], {
    resting: ['a'],
    changed: true,
  });
  await deliveries.resume();
  await deliveries.stop();
  expect([looks, unsettled]).toEqual([['a', 'b'], ['b']]);
});

test('of ten thousand idle scopes, a start opens none', async () => {
  const fleet = many();
  const { deliveries, looks } = open(() => fleet, { resting: fleet.slice(1).map(({ scope }) => scope) });
  await deliveries.resume();
  await deliveries.stop();
  expect(looks).toEqual(['s0']);
}, 30_000);

test('one scope among ten thousand is suspended and resumed: it alone is read, and it alone is opened', async () => {
  let suspended = false;
  const fleet = many();
  const { deliveries, looks, listed } = open(
    () => fleet.map((scope) => (suspended && scope.scope === 's7' ? { ...scope, serving: false } : scope)),
    { resting: fleet.map(({ scope }) => scope).filter((scope) => scope !== 's7') },
  );
  await deliveries.resume();
  expect([looks, listed.records]).toEqual([['s7'], 10_000]);
  suspended = true;
  await deliveries.changed(about('s7', 'tnt_7'));
  deliveries.wake('fieldwork', 's7');
  await new Promise(setImmediate);
  expect([looks, listed.records]).toEqual([['s7'], 10_001]);
  suspended = false;
  await deliveries.changed(about('s7', 'tnt_7'));
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  await deliveries.stop();
  expect([looks, listed.records]).toEqual([['s7', 's7'], 10_002]);
}, 30_000);

test('a suspended tenant costs its own scopes, and no other scope is looked at', async () => {
  let serving = true;
  const scopes = () => [each('a', serving), each('b', serving), each('x', true, 'fieldwork', 'tnt_x')];
  const { deliveries, looks, listed, pass } = open(scopes);
  await deliveries.resume();
  const before = [looks.length, listed.records];
  serving = false;
  await deliveries.changed(aboutTenant());
  deliveries.wake('fieldwork', 'a');
  deliveries.wake('fieldwork', 'b');
  await pass();
  expect([looks.length, listed.records]).toEqual([before[0], 5]);
  serving = true;
  await deliveries.changed(aboutTenant());
  await pass();
  await deliveries.stop();
  expect(looks.slice(3).sort()).toEqual(['a', 'b']);
});

test('a promotion of a vertical touches no scope', async () => {
  const { deliveries, looks, listed } = open(() => [each('a')]);
  await deliveries.changed({ tenant: null, scope: null, vertical: 'fieldwork' });
  await deliveries.stop();
  expect([looks, listed.records]).toEqual([[], 0]);
});

test('after a restore of the directory every scope is looked at', async () => {
  let serving = false;
  const { deliveries, looks } = open(() => [each('a', serving), each('b')]);
  await deliveries.resume();
  serving = true;
  await deliveries.changed(EVERYTHING);
  await deliveries.stop();
  expect(looks).toEqual(['b', 'a', 'b']);
});

test('a scope that is suspended while all are listed stays suspended, whatever the list said', async () => {
  const listing = Promise.withResolvers<void>();
  const looks: string[] = [];
  const suspendedNow = each('a', false);
  const deliveries = new Deliveries({
    verticals: new Map([
      [
        'fieldwork',
        {
          vertical,
          build: 'b1',
          host: {
            scope: (id: string) => ({
              work: async () => {
                looks.push(id);
                return { settled: 0, claimed: [], nextAtMs: null };
              },
            }),
            attachments: {},
          } as unknown as ScopeHost,
        },
      ],
    ]),
    fleet: {
      scopes: async function* list() {
        yield each('a');
        await listing.promise;
      },
      scopesOf: async function* none() {},
      scope: async () => suspendedNow,
    },
    idleScopes: {
      marked: async () => new Map(),
      takeDue: async () => ({ items: [], nextAtMs: null }),
      settle: async () => [],
    },
    now: () => 0,
    onIncident: (error) => {
      throw error;
    },
    after: () => () => undefined,
  });
  const looking = deliveries.resume();
  await new Promise(setImmediate);
  await deliveries.changed(about('a'));
  listing.resolve();
  await looking;
  deliveries.wake('fieldwork', 'a');
  await deliveries.stop();
  expect(looks).toEqual([]);
});

test('a due scope works, and so does an idle one whose queue state is unknown', async () => {
  const { deliveries, looks, markings, pass } = open(() => [], { due: ['timely'], unsure: ['read'] });
  await pass();
  expect(looks).toEqual([]);
  await deliveries.resume();
  await pass();
  await deliveries.stop();
  expect(looks).toEqual(['timely', 'read']);
  // The last call marks every idle scope, however short ago it was called.
  expect(markings).toEqual([600_000, 0]);
});

test('a due scope works although no scope could be marked', async () => {
  const full = () => {
    throw new Error('the disk is full');
  };
  const { deliveries, looks, incidents, pass } = open(() => [], { due: ['timely'], settling: full });
  await deliveries.resume();
  await pass();
  expect([looks, incidents]).toEqual([['timely'], [new Error('the disk is full')]]);
  await deliveries.stop();
});

test('a scope that the last look did not list works at once', async () => {
  const { deliveries, looks } = open(() => []);
  await deliveries.resume();
  deliveries.wake('fieldwork', 'new');
  deliveries.wake('unheard-of', 'x');
  await deliveries.stop();
  expect(looks).toEqual(['new']);
});

test('a directory that cannot be read is an incident, and is asked again', async () => {
  let broken = true;
  const { deliveries, looks, incidents, pass } = open(() => {
    if (broken) throw new PlatformError('unavailable', 'The directory is away.');
    return [each('a')];
  });
  await deliveries.resume();
  await deliveries.changed(about('a'));
  expect([incidents.length, looks]).toEqual([2, []]);
  broken = false;
  await pass();
  await deliveries.stop();
  expect(incidents).toHaveLength(2);
  expect(looks).toContain('a');
});

test('a change whose scopes could not be read is asked about again', async () => {
  let broken = true;
  const { deliveries, looks, listed, pass } = open(() => {
    if (broken) throw new PlatformError('unavailable', 'The directory is away.');
    return [each('a', false)];
  });
  await deliveries.changed(about('a'));
  broken = false;
  await pass();
  deliveries.wake('fieldwork', 'a');
  await deliveries.stop();
  expect([looks, listed.records]).toEqual([[], 2]);
});

describe('a resumed scope whose mark could not be read', () => {
  /** Resumes a scope while the marks cannot be read. */
  const letIn = async () => {
    let serving = false;
    let broken = false;
    const fixture = open(() => [each('a', serving)], {
      reading: () => {
        if (broken) throw new Error('the disk is full');
      },
    });
    await fixture.deliveries.resume();
    const raise = async (into: boolean) => {
      serving = into;
      await fixture.deliveries.changed(about('a'));
    };
    broken = true;
    await raise(true);
    await new Promise(setImmediate);
    expect([fixture.looks, fixture.incidents.length]).toEqual([[], 1]);
    const repair = () => {
      broken = false;
    };
    return { ...fixture, raise, repair };
  };

  test('is looked into as soon as marks can be read', async () => {
    const { deliveries, looks, incidents, pass, repair } = await letIn();
    await pass();
    expect([looks, incidents.length]).toEqual([[], 2]);
    repair();
    await pass();
    await pass();
    await deliveries.stop();
    expect([looks, incidents.length]).toEqual([['a'], 2]);
  });

  test('stays out if it was suspended meanwhile', async () => {
    const { deliveries, looks, pass, repair, raise } = await letIn();
    repair();
    await raise(false);
    await pass();
    deliveries.wake('fieldwork', 'a');
    await pass();
    await deliveries.stop();
    expect(looks).toEqual([]);
  });
});

test('a stop interrupts the look, and no work begins after it', async () => {
  const endless = async function* endless() {
    for (;;) {
      yield each('a');
      await new Promise(setImmediate);
    }
  };
  const { deliveries, looks } = open(() => [each('a')]);
  const other = new Deliveries({
    verticals: new Map(),
    fleet: { scopes: endless, scopesOf: endless, scope: async () => null },
    idleScopes: {
      marked: async () => new Map(),
      takeDue: async () => ({ items: [], nextAtMs: null }),
      settle: async () => [],
    },
    now: () => 0,
    onIncident: () => undefined,
  });
  const looking = other.resume();
  await other.stop();
  await looking;
  await deliveries.stop();
  await deliveries.resume();
  await deliveries.changed(EVERYTHING);
  deliveries.wake('fieldwork', 'a');
  expect(looks).toEqual([]);
});

test.each([
  [1, ['fieldwork a']],
  [0, []],
])('a round with %i settled pieces of work is reported', async (settled, told) => {
  const { deliveries, worked } = open(() => [each('a')], { settled });
  await deliveries.resume();
  await deliveries.stop();
  expect(worked).toEqual(told);
});
