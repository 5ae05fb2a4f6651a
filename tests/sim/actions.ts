/** The actions that one step can choose from, and their weights. */
import type { PrincipalId, ScopeRef } from '@freehold/contracts';
import type { Point } from './engine/fuse.ts';
import { bytesOf, streamOf } from './engine/sim-engine.ts';
import { inputOf, PERMISSIONS } from './ledger/ledger.ts';
import type { ModelRequest } from './model/calls.ts';
import { ACCOUNTS, ACTORS, PRINCIPALS, SETTINGS } from './workload.ts';
import type { RunningWorld, SimScope, World } from './world.ts';

/** The groups of actions that a run can leave out. */
export const FEATURES = [
  'death',
  'power',
  'disk',
  'clock',
  'evict',
  'copies',
  'rewind',
  'shred',
  'roles',
  'reads',
  'requests',
] as const;
export type Feature = (typeof FEATURES)[number];

export interface Action {
  readonly name: string;
  readonly weight: number;
  readonly feature?: Feature;
  run(world: World): void;
}

/** The last few entries of each scope. */
type Places<T> = WeakMap<SimScope, { value: T | null }[]>;

interface TakenCopy {
  readonly format: 'sqlite' | 'ndjson';
  readonly bytes: Uint8Array;
  readonly stream: ReadableStream;
}

/** Recent requests, to be repeated. */
const asked: Places<ModelRequest> = new WeakMap();
const taken: Places<TakenCopy> = new WeakMap();
const snapshots: Places<string> = new WeakMap();

const HOUR_MS = 3_600_000;
const PAGE_BYTES = 4_096;

export const ACTIONS: readonly Action[] = [
  { name: 'invoke', weight: 80, run: (world) => invoke(world, scopeOf(world)) },
  { name: 'invoke again', weight: 12, run: (world) => invokeAgain(world, scopeOf(world)) },
  { name: 'a flood', weight: 0.2, run: (world) => flood(world, scopeOf(world)) },
  { name: 'read', weight: 8, feature: 'reads', run: (world) => read(world, scopeOf(world)) },
  {
    name: 'change a role',
    weight: 4,
    feature: 'roles',
    run: (world) => changeRole(world, scopeOf(world)),
  },
  {
    name: 'change a role, use it, and lose both',
    weight: 1,
    feature: 'disk',
    run: (world) => loseRole(world, scopeOf(world)),
  },
  { name: 'check', weight: 2, feature: 'roles', run: (world) => check(world, scopeOf(world)) },
  {
    name: 'project settings',
    weight: 1,
    run: (world) => {
      const settings = Object.fromEntries(
        SETTINGS.filter(() => world.random.chance(0.7)).map((key) => [key, `s${world.random.below(9)}`]),
      );
      begin(world, scopeOf(world), 'projectSettings', (scope) =>
        hostScope(world, scope).projectSettings({ settings }),
      );
    },
  },
  {
    name: 'settle a request',
    weight: 3,
    feature: 'requests',
    run: (world) => settleRequest(world, scopeOf(world)),
  },
  { name: 'retry a dead letter', weight: 2, run: (world) => retryDeadLetter(world, scopeOf(world)) },
  { name: 'meet a new person', weight: 2, run: (world) => world.workload.meet() },
  { name: 'shred', weight: 3, feature: 'shred', run: (world) => shred(world, scopeOf(world)) },

  {
    name: 'a moment passes',
    weight: 14,
    run: ({ scheduler, random }) => scheduler.advance(random.between(1, 40)),
  },
  {
    name: 'seconds pass',
    weight: 5,
    run: ({ scheduler, random }) => scheduler.advance(random.between(100, 9_000)),
  },
  {
    name: 'time until the next timer passes',
    weight: 5,
    run: ({ scheduler }) => scheduler.advance(Math.max(0, (scheduler.nextTimerMs() ?? 0) - scheduler.now())),
  },
  {
    name: 'hours pass',
    weight: 0.4,
    feature: 'clock',
    run: ({ scheduler, random }) => scheduler.advance(random.between(1, 14) * HOUR_MS),
  },
  {
    name: 'the clock is set back',
    weight: 0.4,
    feature: 'clock',
    run: ({ scheduler, random }) => scheduler.advance(-random.between(1, 5_000)),
  },

  { name: 'bookmark', weight: 2, feature: 'rewind', run: (world) => bookmark(world, scopeOf(world)) },
  { name: 'rewind', weight: 1.4, feature: 'rewind', run: (world) => rewind(world, scopeOf(world)) },
  {
    name: 'erase a person while an older state comes back',
    weight: 1,
    feature: 'shred',
    run: (world) => {
      const scope = scopeOf(world);
      const both = [shred, rewind];
      for (const ask of world.random.chance(0.5) ? both : both.reverse()) ask(world, scope);
      if (world.random.chance(0.5)) world.fuse.arm('death', 'method', world.random.between(1, 8));
    },
  },
  { name: 'export', weight: 1.6, feature: 'copies', run: (world) => takeCopy(world, scopeOf(world)) },
  { name: 'restore', weight: 1.6, feature: 'copies', run: (world) => restore(world, scopeOf(world)) },

  {
    name: 'a unit is closed',
    weight: 2,
    feature: 'evict',
    run: (world) => {
      const { scopeId, tenantId } = scopeOf(world);
      if (world.random.chance(0.7)) world.process.inner.evict('scope-ledger', scopeId);
      else world.process.inner.evict('vault', tenantId);
    },
  },
  {
    name: 'the disk gets worse or better',
    weight: 0.6,
    feature: 'disk',
    run: ({ faults, random }) => {
      faults.commit = random.pick([0, 0, 0, 0.05, 0.2]);
      faults.open = random.pick([0, 0, 0, 0.05, 0.2]);
    },
  },
  {
    name: 'the disk will be full',
    weight: 1,
    feature: 'disk',
    run: ({ fuse, random }) => fuse.arm('full', 'method', random.between(1, 10)),
  },
  {
    name: 'the disk will break',
    weight: 1,
    feature: 'disk',
    run: ({ fuse, random }) => fuse.arm('broken', 'written', random.between(1, 10)),
  },
  {
    name: 'the process will die',
    weight: 0.8,
    feature: 'death',
    run: ({ fuse, random }) =>
      fuse.arm(
        'death',
        random.pick<Point>(['method', 'written', 'committed', 'staged']),
        random.between(1, 10),
      ),
  },
  {
    name: 'the power will fail',
    weight: 0.8,
    feature: 'power',
    run: ({ fuse, random }) => fuse.arm('power', 'committed', random.between(1, 5)),
  },
  { name: 'the process dies', weight: 0.3, feature: 'death', run: (world) => world.end('death') },
  { name: 'the power fails', weight: 0.2, feature: 'power', run: (world) => world.end('power') },
  { name: 'the platform is restarted', weight: 0.2, feature: 'death', run: (world) => world.end('shutdown') },
];

/** Prepares every scope with members before any fault is injected. */
export async function setUp(world: RunningWorld): Promise<void> {
  const { scheduler } = world;
  for (const { tenantId, scopeId } of world.scopes) {
    const { host } = world.process;
    world.begin('provision', host.provisionScopeLocal({ tenantId, scopeId, name: 'Ledger' }));
    for (const [i, role] of ['owner', 'clerk', 'guest'].entries())
      world.begin(
        'assignRole',
        host.scope(scopeId).assignRole({ principal: PRINCIPALS[i] as never, role, by: 'platform' }),
      );
    const opened = inputOf(
      'opening',
      'none',
      ACCOUNTS.slice(0, -1).map((account) => ({ do: 'open', account })),
    );
    world.begin(
      'open accounts',
      host
        .scope(scopeId)
        .invoke({ operation: 'account/open', principal: PRINCIPALS[0] as never, input: opened }),
    );
  }
  while (world.inFlight > 0 || scheduler.ready() > 0) {
    if (scheduler.ready() > 0) scheduler.runOne();
    await world.settle();
  }
}

function scopeOf(world: World): SimScope {
  return world.random.pick(world.scopes);
}

function refOf({ tenantId, scopeId }: SimScope): ScopeRef {
  return { tenantId, scopeId };
}

function hostScope(world: World, { scopeId }: SimScope) {
  return world.process.host.scope(scopeId);
}

function begin(
  world: World,
  scope: SimScope,
  label: string,
  work: (scope: SimScope) => Promise<unknown>,
): void {
  world.begin(`${label} ${scope.scopeId.slice(-4)}`, work(scope));
}

function invoke(world: World, scope: SimScope): void {
  const request = world.workload.request(scope.shadow.state, world.scheduler.now());
  if (request.idempotencyKey !== undefined) placeIn(asked, scope, 20).value = request;
  begin(world, scope, `invoke ${request.operation}`, () => hostScope(world, scope).invoke(request as never));
}

function flood(world: World, scope: SimScope): void {
  const request = world.workload.flood();
  begin(world, scope, 'a flood', () => hostScope(world, scope).invoke(request as never));
}

/** Repeats a request: its answer was lost, or another request took the same key. */
function invokeAgain(world: World, scope: SimScope): void {
  const { random } = world;
  const requests = filled(asked, scope);
  if (requests.length === 0) return;
  const request = random.pick(requests);
  const changed = random.weighted<Partial<ModelRequest>>([
    { weight: 8, value: {} },
    { weight: 1, value: { input: world.workload.request(scope.shadow.state, world.scheduler.now()).input } },
    { weight: 1, value: { principal: random.pick(ACTORS) } },
  ]);
  begin(world, scope, `invoke again ${request.operation}`, () =>
    hostScope(world, scope).invoke({ ...request, ...changed } as never),
  );
}

function read(world: World, scope: SimScope): void {
  const { random } = world;
  const { state } = scope.shadow;
  const target = hostScope(world, scope);
  const limit = random.pick([1, 3, 20, 200]);
  const sealed = random.chance(0.5);
  const event = state.events.keys()[random.below(state.events.size + 1)] ?? 'evt_none';
  const reads: readonly (() => [string, Promise<unknown>])[] = [
    () => ['history', target.history({ entity: world.workload.record(), limit, sealed })],
    () => ['cause', target.cause({ event: event as never, sealed })],
    () => ['effects', target.effects({ event: event as never, sealed })],
    () => [
      'invocation',
      target.invocation({
        invocation: (state.invocations.keys()[random.below(state.invocations.size + 1)] ??
          'inv_none') as never,
        sealed,
      }),
    ],
    () => [
      'facets',
      target.facets({ groupBy: random.pick(['type', 'actor']), since: '2026-01-01T00:00:00.000Z' }),
    ],
    () => ['deadLetters', target.deadLetters({ limit })],
    () => [
      'listDenials',
      target.listDenials({ limit, ...(random.chance(0.3) ? { actor: random.pick(ACTORS) } : {}) }),
    ],
    () => ['summarizeDenials', target.summarizeDenials({ groupBy: random.pick(['actor', 'operation']) })],
    () => ['assignments', target.assignments({})],
    () => ['holdings', target.holdings({ principal: random.pick(ACTORS) as never })],
    () => [
      'explain',
      target.explain({
        principal: random.pick(ACTORS) as never,
        permission: random.pick(PERMISSIONS),
        entity: world.workload.record(),
      }),
    ],
    () => ['listPlatformRequests', target.listPlatformRequests({ limit })],
  ];
  const [name, answer] = random.pick(reads)();
  begin(world, scope, name, () => answer);
}

function changeRole(world: World, scope: SimScope): void {
  const { random } = world;
  const target = hostScope(world, scope);
  const principal = random.pick(PRINCIPALS.slice(1)) as never;
  const by = (random.chance(0.6) ? 'platform' : random.pick(PRINCIPALS)) as never;
  const role = random.pick(['owner', 'clerk', 'clerk', 'guest', 'guest', 'auditor']);
  begin(world, scope, 'role', () =>
    random.weighted([
      { weight: 4, value: () => target.assignRole({ principal, role, by }) },
      { weight: 3, value: () => target.revokeRole({ principal, role, by }) },
      { weight: 1, value: () => target.setRoles({ principal, roles: random.chance(0.3) ? [] : [role], by }) },
      {
        weight: 1,
        value: () =>
          target.projectRoles({
            roles: random.chance(0.3) ? {} : { auditor: [random.pick(PERMISSIONS), 'order.look'] },
          }),
      },
    ])(),
  );
}

/** Memory that was filled within a group must be dropped when the group is lost. */
function loseRole(world: World, scope: SimScope): void {
  const { random, faults, scheduler } = world;
  const target = hostScope(world, scope);
  const principal = random.pick(PRINCIPALS.slice(1)) as PrincipalId;
  const isClerk = scope.shadow.state.assignments.has(`${principal} clerk`);
  const change = { principal, role: 'clerk', by: 'platform' } as const;
  const request = { ...world.workload.request(scope.shadow.state, scheduler.now()), principal };
  faults.next.add(scope.scopeId);
  begin(world, scope, 'role', () => (isClerk ? target.revokeRole(change) : target.assignRole(change)));
  begin(world, scope, `invoke ${request.operation}`, () => target.invoke(request as never));
  scheduler.after(world.process.life, 5, 'look what is left', () =>
    begin(world, scope, 'holdings', () => target.holdings({ principal })),
  );
}

function check(world: World, scope: SimScope): void {
  const { random } = world;
  const entity = random.chance(0.5) ? { entity: world.workload.record() } : {};
  begin(world, scope, 'check', () =>
    hostScope(world, scope).check({
      principal: random.pick(ACTORS) as never,
      permission: random.pick(PERMISSIONS),
      ...entity,
    }),
  );
}

function settleRequest(world: World, scope: SimScope): void {
  const { random } = world;
  const requests = scope.shadow.state.requests.values();
  const request = requests[random.below(requests.length)];
  if (!request) return;
  begin(world, scope, 'settlePlatformRequest', () =>
    world.process.host.settlePlatformRequest({
      ...refOf(scope),
      id: request.id as never,
      revision: random.chance(0.9) ? 1 : 2,
      status: random.pick(['done', 'refused', 'failed']),
      result: random.pick(['yes', null]),
    }),
  );
}

function retryDeadLetter(world: World, scope: SimScope): void {
  const letters = scope.shadow.state.dead.values();
  const letter = letters[world.random.below(letters.length)];
  if (!letter) return;
  begin(world, scope, 'retryDeadLetter', () =>
    world.process.host.retryDeadLetterLocal({
      ...refOf(scope),
      event: letter.event as never,
      subscriber: letter.subscriber,
    }),
  );
}

function shred(world: World, scope: SimScope): void {
  const person = world.workload.person();
  // Some persons stay in use after their erasure; a scope whose persons were all erased would have none left.
  if (world.random.chance(0.7)) world.workload.meet(person);
  const { life } = world.process;
  begin(world, scope, 'shred', async () => {
    await world.process.host.shredSubjectLocal({ ...refOf(scope), subject: person });
    if (life.isDead) return;
    scope.shadow.erased(person);
    world.count('erased');
  });
}

function bookmark(world: World, scope: SimScope): void {
  begin(world, scope, 'bookmarks', () =>
    world.process.host.migrationBookmarksLocal({ ...refOf(scope), limit: 50 }),
  );
}

function rewind(world: World, scope: SimScope): void {
  const { bookmarks } = scope.shadow;
  if (bookmarks.length === 0) return;
  const { bookmark } = world.random.pick(bookmarks);
  begin(world, scope, 'rewind', async () => {
    const { life, host } = world.process;
    await host.rewindScopeLocal({ ...refOf(scope), bookmark });
    if (life.isDead) return;
    scope.shadow.requireErased();
    world.count('rewound');
  });
}

/** Takes a copy of the scope as it is now, or of an earlier snapshot. */
function takeCopy(world: World, scope: SimScope): void {
  const { random } = world;
  const { host, inner } = world.process;
  const ref = refOf(scope);
  if (inner.hasSnapshots && random.chance(0.3)) {
    const place = placeIn(snapshots, scope, 3);
    begin(world, scope, 'snapshot', async () => {
      place.value = (await host.snapshotScopeLocal(ref)).id;
      world.count('snapshot');
    });
    return;
  }
  const ids = filled(snapshots, scope);
  const id = random.chance(0.3) ? ids[random.below(ids.length)] : undefined;
  const place = placeIn(taken, scope, 4);
  const format = inner.hasSnapshots && random.chance(0.5) ? 'ndjson' : 'sqlite';
  begin(world, scope, id === undefined ? `export as ${format}` : 'open a snapshot', async () => {
    const copy =
      id === undefined
        ? await host.exportScopeLocal({ ...ref, format })
        : await host.openSnapshotLocal({ ...ref, snapshot: id });
    const bytes = await bytesOf(copy.body);
    place.value = { format: copy.format, bytes, stream: copy.body };
    world.count('exported');
  });
}

/** Restores the scope's own copy, a damaged one, or one of another tenant's scope. */
function restore(world: World, scope: SimScope): void {
  const { random, copies } = world;
  const foreign = world.scopes.find(({ tenantId }) => tenantId !== scope.tenantId);
  const from = random.chance(0.15) && foreign ? foreign : scope;
  const all = filled(taken, from);
  const copy = all[random.below(all.length)];
  if (!copy) return;
  const { format } = copy;
  const isDamaged = random.chance(0.15);
  const bytes = Buffer.from(copy.bytes);
  if (isDamaged) damage(bytes, random.below(bytes.length));
  const body = streamOf(bytes);
  copies.set(body, isDamaged || from !== scope ? null : (copies.get(copy.stream) ?? null));
  begin(world, scope, 'restore', async () => {
    const { life, host } = world.process;
    await host.restoreScopeLocal({ ...refOf(scope), format }, body);
    if (life.isDead) return;
    scope.shadow.requireErased();
    world.count('restored');
  });
}

/** Reserves a place for a pending action, in the order of requests, not of their ends. */
function placeIn<T>(memory: Places<T>, scope: SimScope, countMax: number): { value: T | null } {
  const place = { value: null };
  memory.set(scope, [...(memory.get(scope) ?? []), place].slice(-countMax));
  return place;
}

function filled<T>(memory: Places<T>, scope: SimScope): T[] {
  return (memory.get(scope) ?? []).flatMap(({ value }) => value ?? []);
}

/** Overwrites from the beginning of a page on, its header included, so that the check cannot miss it. */
function damage(bytes: Buffer, at: number): void {
  const page = Math.floor(at / PAGE_BYTES) * PAGE_BYTES;
  bytes.fill(0xa5, page, Math.min(page + PAGE_BYTES, bytes.length));
}
