/**
 * The host's side of the keys: a scope from outside, with a vault behind it. A look before the handler finds the keys
 * that a call lacks, and the next look brings them: a handler runs once. The vault is asked who was erased before an
 * older state answers. In the background it is told which keys were used, and pools are filled.
 */
import { PlatformError, type ScopeId, type ScopeRef, type TenantId } from '@freehold/contracts';
import type {
  ActingProgram,
  ClaimedDelivery,
  JudgedProgram,
  ScopeInvoke,
  ScopeInvoked,
  ScopeStub,
  WorkAttempt,
  WorkDone,
  WorkRequest,
} from '../contract/scope-methods.ts';
import {
  isKeysNeeded,
  isNothing,
  type KeyNeeds,
  type KeySupply,
  needsOf,
  noVault,
} from '../keys/key-needs.ts';
import { VAULT_MISSING, type Vault } from '../keys/vault.ts';
import { rightsHeld } from '../permissions/present-rights.ts';
import { isErasuresUnseen, isKeysUnbound } from './erasures.ts';

/** The largest number of looks of one call: the rows that it reads may change between two looks. */
const LOOKS_MAX = 50;
/** The number of bindings in one call of the vault. */
const BATCH = 500;
/** The time that bindings wait for others to share a commit with. Waiting ones are not lost. */
const BIND_AFTER_MS = 1_000;
/** A pool that is half empty is filled sooner. */
const FILL_AFTER_MS = 5;
/** The pause between two looks at a frozen pool. */
const FROZEN_MS = 20;
const TENANTS_KNOWN_MAX = 10_000;

/** Work at the vault: to fill a pool, or to say which keys were used. */
type KeyWorkKind = 'fill' | 'bind';

export interface KeyKeeperParts {
  readonly vault: Vault;
  /** Returns the scope itself, unwrapped. */
  readonly scope: (scopeId: string) => ScopeStub;
  /** Runs a task after so many milliseconds. Default: a timer of the runtime, which keeps no process alive. */
  readonly after?: ((ms: number, task: () => void) => void) | undefined;
}

export interface KeyKeeper {
  /** Notes whose scope it is. A scope never changes its tenant. */
  know(scopeId: string, tenantId: TenantId): void;
  /** Fetches the keys that a call lacks. */
  fetch(scopeId: string, needs: KeyNeeds): Promise<KeySupply>;
  /** Tells the vault of every used key, until none waits. Also opens a scope that is closed until then. */
  bindAll(scopeId: string): Promise<void>;
  /** Notes background work for a scope at the vault. Costs nothing. */
  tend(scopeId: string, kind: KeyWorkKind): void;
  /**
   * Runs a task in which no key is taken, and before which the vault was told of all that were.
   * @param evenIfLost true goes on when the scope itself cannot answer: then it takes no keys either.
   */
  frozen<T>(scopeId: string, work: () => Promise<T>, evenIfLost?: boolean): Promise<T>;
  /** Ends the unused keys of a closed unit. After a failure they exist, and open nothing. */
  returned(ref: ScopeRef, keyIds: readonly string[]): void;
  /** Binds all unbound keys and hands back all unused ones, before the engine closes. Never rejects. */
  settleAll(): Promise<void>;
}

interface KeeperState {
  readonly vault: Vault;
  readonly scope: KeyKeeperParts['scope'];
  readonly after: (ms: number, task: () => void) => void;
  readonly tenants: Map<string, TenantId>;
  /** Scopes whose turn will come or is running. */
  readonly waiting: Readonly<Record<KeyWorkKind, Set<string>>>;
  /** Scopes whose pools may hold unused keys. */
  readonly pooled: Set<string>;
  readonly running: Set<Promise<void>>;
}

export function makeKeyKeeper({ vault, scope, after = afterTimeout }: KeyKeeperParts): KeyKeeper {
  const waiting = { fill: new Set<string>(), bind: new Set<string>() };
  const k: KeeperState = {
    vault,
    scope,
    after,
    tenants: new Map(),
    waiting,
    pooled: new Set(),
    running: new Set(),
  };
  return {
    know: (scopeId, tenantId) => {
      if (!k.tenants.has(scopeId)) know(k, scopeId, tenantId);
    },
    fetch: (scopeId, needs) => fetch(k, scopeId, needs),
    bindAll: (scopeId) => bindAll(k, scopeId),
    tend: (scopeId, kind) => {
      if (waiting[kind].has(scopeId)) return;
      waiting[kind].add(scopeId);
      after(kind === 'fill' ? FILL_AFTER_MS : BIND_AFTER_MS, () => takeTurn(k, scopeId, kind));
    },
    frozen: async (scopeId, work, evenIfLost = false) => {
      const asked = asking(evenIfLost);
      await asked(scope(scopeId).freezeKeys({ frozen: true }));
      try {
        await bindAll(k, scopeId, asked);
        // The next state is another opening, which is not frozen.
        return await work();
      } catch (error) {
        await scope(scopeId)
          .freezeKeys({ frozen: false })
          .catch(() => undefined);
        throw error;
      }
    },
    returned: (ref, keyIds) => {
      k.pooled.delete(ref.scopeId);
      if (keyIds.length > 0) track(k, vault.handBack(ref, keyIds));
    },
    settleAll: async () => {
      const settled = [...new Set([...k.pooled, ...waiting.fill, ...waiting.bind])].map(async (scopeId) => {
        const unused = await scope(scopeId).giveUpKeys({});
        await Promise.all([bindAll(k, scopeId), vault.handBack(await refOf(k, scopeId), unused)]);
      });
      await Promise.allSettled([...settled, ...k.running]);
      k.pooled.clear();
    },
  };
}

function know({ tenants }: KeeperState, scopeId: string, tenantId: TenantId): void {
  if (tenants.size >= TENANTS_KNOWN_MAX) tenants.delete(tenants.keys().next().value as string);
  tenants.set(scopeId, tenantId);
}

async function refOf(k: KeeperState, scopeId: string): Promise<ScopeRef> {
  let tenantId = k.tenants.get(scopeId);
  if (tenantId === undefined) {
    tenantId = (await k.scope(scopeId).pendingErasures({})).tenantId;
    know(k, scopeId, tenantId);
  }
  return { tenantId, scopeId: scopeId as ScopeId };
}

async function fetch(k: KeeperState, scopeId: string, { subjects, pool }: KeyNeeds): Promise<KeySupply> {
  if (pool?.count === 0) {
    // Another state is about to replace this one. The call goes on in that one.
    await new Promise<void>((resolve) => k.after(FROZEN_MS, resolve));
    return {};
  }
  const ref = await refOf(k, scopeId);
  if (pool) k.pooled.add(scopeId);
  const [keys, fresh] = await Promise.all([
    subjects.length === 0 ? undefined : k.vault.keys(ref, subjects),
    pool === null ? undefined : k.vault.allot(ref, pool.count),
  ]);
  return {
    ...(keys === undefined ? {} : { keys }),
    ...(pool === null || fresh === undefined ? {} : { allotment: { opening: pool.opening, keys: fresh } }),
  };
}

/** Returns the answer of a scope; null where it is lost and that is admitted. */
type Asked = <T>(answer: Promise<T>) => Promise<T | null>;

function asking(evenIfLost: boolean): Asked {
  return async (answer) =>
    answer.catch((error: unknown) => {
      if (evenIfLost && isLost(error)) return null;
      throw error;
    });
}

async function bindAll(
  { scope, vault }: KeeperState,
  scopeId: string,
  asked: Asked = (answer) => answer,
): Promise<void> {
  for (let more: boolean | undefined = true; more; ) {
    const waiting = await asked(scope(scopeId).keyWork({ limit: BATCH }));
    if (!waiting) return;
    await vault.bind({ tenantId: waiting.tenantId, scopeId: scopeId as ScopeId }, waiting.unbound);
    // Unbound keys may have been rolled back meanwhile: then there is nothing to mark.
    more = (await asked(scope(scopeId).keysBound({ bindings: waiting.unbound })))?.more;
  }
}

/** Whether a scope's answer says that its database is damaged or missing. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof PlatformError)) return false;
  return error.code === 'not_found' || error.reason === 'unit_unreadable';
}

/** Binds the keys that wait at this moment, and no later ones. */
async function bindWaiting({ scope, vault }: KeeperState, scopeId: string): Promise<void> {
  for (let isFull = true; isFull; ) {
    const { tenantId, unbound } = await scope(scopeId).keyWork({ limit: BATCH });
    if (unbound.length === 0) return;
    await vault.bind({ tenantId, scopeId: scopeId as ScopeId }, unbound);
    await scope(scopeId).keysBound({ bindings: unbound });
    isFull = unbound.length === BATCH;
  }
}

async function fill({ scope, vault, pooled }: KeeperState, scopeId: string): Promise<void> {
  const { tenantId, pool } = await scope(scopeId).keyWork({ limit: 1 });
  if (!pool || pool.count <= 0) return;
  pooled.add(scopeId);
  const keys = await vault.allot({ tenantId, scopeId: scopeId as ScopeId }, pool.count);
  await scope(scopeId).provideKeys({ allotment: { opening: pool.opening, keys } });
}

/** Does one kind of work for a scope, one at a time. Failed work is done when the scope is opened or copied next. */
function takeTurn(k: KeeperState, scopeId: string, kind: KeyWorkKind): void {
  track(k, (kind === 'fill' ? fill : bindWaiting)(k, scopeId), () => k.waiting[kind].delete(scopeId));
}

function track({ running }: KeeperState, work: Promise<void>, done?: () => void): void {
  const run = work
    .catch(() => undefined)
    .finally(() => {
      done?.();
      running.delete(run);
    });
  running.add(run);
}

/** This is wiring: a timer of the runtime, which does not keep the process alive. */
function afterTimeout(ms: number, task: () => void): void {
  const timer = setTimeout(task, ms);
  if (ms >= BIND_AFTER_MS) (timer as { unref?: () => void }).unref?.();
}

/** The changes of rights that a host refuses while another state is about to take a scope's place. */
const RIGHTS: ReadonlySet<string | symbol> = new Set([
  'assignRole',
  'grantConnection',
  'projectRoles',
  'revokeRole',
  'setRoles',
]);

/**
 * Refuses changes of rights. The unit refuses them too (`holdRights`), until it is opened again: a failed commit closes it.
 */
function unlessHeld(name: string | symbol, method: Method, isHeld: () => boolean): Method {
  if (!RIGHTS.has(name)) return method;
  return async (input) => {
    if (isHeld()) throw rightsHeld();
    return method(input);
  };
}

export interface KeyedScope {
  /** Whether the rights in the scope must not change now. */
  readonly isHeld: () => boolean;
  readonly scopeId: string;
  readonly vault: Vault;
  readonly keeper: KeyKeeper;
  readonly judge: JudgeProgram;
}

/** Learns what a program is allowed now. Never rejects. */
type JudgeProgram = (program: ActingProgram) => Promise<JudgedProgram>;

/** Makes a round of work. One whose next step is of a program is made with what that is allowed now. */
async function judgedWork(stub: ScopeStub, judge: JudgeProgram, input: WorkRequest): Promise<WorkDone> {
  const round = await stub.work(input);
  return round.program ? stub.work({ ...input, program: await judge(round.program) }) : round;
}

/** Rounds of work whose deliveries needed keys that the vault refuses, for the runner in the same process. */
const refused = new WeakMap<WorkDone, unknown>();

/** Returns the error for which some deliveries of a round went without their keys, or undefined. */
export function keysRefusedTo(round: WorkDone): unknown {
  return refused.get(round);
}

/** Wraps a scope's stub. Its callers see one call, whatever had to be fetched for it. */
export function keyedScope(stub: ScopeStub, keyed: KeyedScope): ScopeStub {
  const { scopeId, keeper } = keyed;
  const call: Call = (make, bring) => callWithKeys(stub, keyed, make, bring);
  const invoke = async (input: ScopeInvoke): Promise<ScopeInvoked> => {
    if (input.tenantId !== undefined) keeper.know(scopeId, input.tenantId);
    const { keyWork, ...result } = await call((keys) => stub.invoke({ ...input, keys }));
    if (keyWork) keeper.tend(scopeId, keyWork);
    return result;
  };
  return wrapped(
    stub,
    (name, method) =>
      unlessHeld(
        name,
        (input) =>
          call(
            () => method(input),
            // A method that only reads takes no keys along: they are handed in before it.
            async (supply) => {
              await stub.provideKeys(supply);
              return {};
            },
          ),
        keyed.isHeld,
      ),
    [
      ['invoke', invoke],
      ['work', (input: WorkRequest) => workThrough({ stub, keyed, call }, input)],
    ],
  );
}

/** Wraps the stub of a host without a vault: missing keys cannot be fetched, and do not concern the caller. */
export function unkeyedScope(stub: ScopeStub, isHeld: () => boolean, judge: JudgeProgram): ScopeStub {
  const unkeyed = async <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      throw isKeysNeeded(error) ? noVault() : error;
    });
  const work = async (input: WorkRequest): Promise<WorkDone> => {
    const round = await unkeyed(judgedWork(stub, judge, input));
    if (round.needs) throw noVault();
    return round;
  };
  return wrapped(stub, (name, method) => unlessHeld(name, (input) => unkeyed(method(input)), isHeld), [
    ['work', work],
  ]);
}

type Method = (input: object) => Promise<unknown>;

/** Returns a stub whose methods pass through `wrap`, but for the given ones. */
function wrapped(
  stub: ScopeStub,
  wrap: (name: string | symbol, method: Method) => Method,
  given: readonly (readonly [string, unknown])[] = [],
): ScopeStub {
  const methods = new Map<string | symbol, unknown>(given);
  return new Proxy(stub, {
    get: (target, name) => {
      const known = methods.get(name);
      if (known) return known;
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      const through = wrap(name, method as Method);
      methods.set(name, through);
      return through;
    },
  });
}

type Call = <T>(
  make: (supply: KeySupply) => Promise<T>,
  bring?: (supply: KeySupply) => Promise<KeySupply>,
) => Promise<T>;

/** Makes a call, and makes it again each time that it did not begin because something was missing. */
async function callWithKeys<T>(
  stub: ScopeStub,
  { scopeId, vault, keeper }: KeyedScope,
  make: (supply: KeySupply) => Promise<T>,
  bring: (supply: KeySupply) => Promise<KeySupply> = async (supply) => supply,
): Promise<T> {
  let supply: KeySupply = {};
  for (let looks = 1; ; looks++) {
    try {
      return await make(supply);
    } catch (error) {
      if (looks >= LOOKS_MAX) throw error;
      supply = {};
      if (isErasuresUnseen(error)) await redactPendingErasures(stub, vault, scopeId);
      else if (isKeysUnbound(error)) await bindOrAdmit(stub, keeper, scopeId);
      else if (isKeysNeeded(error)) supply = await bring(await keeper.fetch(scopeId, requireNeeds(error)));
      else throw error;
    }
  }
}

/** Binds all keys. Without its vault a scope goes on with what is not sealed. */
async function bindOrAdmit(stub: ScopeStub, keeper: KeyKeeper, scopeId: string): Promise<void> {
  try {
    await keeper.bindAll(scopeId);
  } catch (error) {
    if (!(error instanceof PlatformError) || error.reason !== VAULT_MISSING) throw error;
    await stub.keysBound({ bindings: [], vaultMissing: true });
  }
}

async function redactPendingErasures(stub: ScopeStub, vault: Vault, scopeId: string): Promise<void> {
  const { tenantId, mark } = await stub.pendingErasures({});
  if (mark === null) return;
  const receipts = await vault.shredded({ tenantId, scopeId: scopeId as ScopeId });
  await stub.redactPendingErasures({ mark, receipts });
}

/** @throws the failure itself when it names nothing that could be fetched. */
function requireNeeds(error: PlatformError): KeyNeeds {
  const needs = needsOf(error);
  if (isNothing(needs)) throw error;
  return needs;
}

/** Makes rounds of work until none lacks a key, and returns their results as one. */
async function workThrough(
  { stub, keyed, call }: { readonly stub: ScopeStub; readonly keyed: KeyedScope; readonly call: Call },
  input: WorkRequest,
): Promise<WorkDone> {
  const claimed: ClaimedDelivery[] = [];
  const attempts: WorkAttempt[] = [];
  const { report } = input;
  let settled = 0;
  let sweep = false;
  let brought: KeySupply = {};
  let withoutKeys = input.withoutKeys;
  let refusal: unknown;
  for (let looks = 1; ; looks++) {
    const round: WorkDone = await call((keys) =>
      judgedWork(stub, keyed.judge, {
        ...(withoutKeys ? { withoutKeys } : {}),
        ...(report ? { report } : {}),
        keys: { ...brought, ...keys },
      }),
    );
    claimed.push(...round.claimed);
    attempts.push(...(round.attempts ?? []));
    settled += round.settled;
    sweep ||= round.sweep === true;
    const { needs, ...rest } = round;
    if (needs && looks < LOOKS_MAX && !withoutKeys) {
      try {
        brought = await keyed.keeper.fetch(keyed.scopeId, needs);
        continue;
      } catch (error) {
        // Claimed deliveries must be answered all the same; the next round asks a vault again that is away.
        if (isPassing(error) && claimed.length === 0) throw error;
        if (!isPassing(error)) {
          refusal = error;
          withoutKeys = true;
          // One person's damaged key must not delay other deliveries: those that make persons still have their pool.
          brought = await keyed.keeper
            .fetch(keyed.scopeId, { subjects: [], pool: needs.pool })
            .catch(() => ({}));
          continue;
        }
      }
    }
    const done: WorkDone = {
      ...rest,
      claimed,
      settled,
      ...(sweep ? { sweep: true } : {}),
      ...(report ? { attempts } : {}),
    };
    if (refusal !== undefined) refused.set(done, refusal);
    return done;
  }
}

/** Whether a vault is out of reach for a while, rather than unable to give a key. */
function isPassing(error: unknown): boolean {
  return error instanceof PlatformError && error.code === 'unavailable';
}
