/**
 * The host's side of the keys: it fetches what a call lacks, tells the vault in the background which keys were used,
 * fills pools up, and sees to it that nothing is unbound when a scope is copied, replaced or closed.
 */
import type { ScopeId, ScopeRef, TenantId } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { ScopeMethods } from '../scope-methods.ts';
import type { KeyNeeds, KeySupply } from './key-needs.ts';
import type { Vault } from './vault.ts';

/** How many bindings one call of the vault takes. */
const BATCH = 500;
/** How long bindings may wait for others to share a commit with them. They are not lost when they wait. */
const BIND_AFTER_MS = 1_000;
/** A pool that is half empty is filled up sooner. */
const FILL_AFTER_MS = 5;
/** How often a call looks whether a frozen pool has thawed. */
const FROZEN_MS = 20;
const TENANTS_KNOWN_MAX = 10_000;

type Stub = UnitStub<ScopeMethods>;
/** To fill a pool up, or to say which keys were used. */
type KeyWorkKind = 'fill' | 'bind';

export interface KeyKeeperParts {
  readonly vault: Vault;
  /** The scope itself, without anything between. */
  readonly scope: (scopeId: string) => Stub;
  /** Runs a task after so many milliseconds. Default: a timer of the runtime, which keeps no process alive. */
  readonly after?: (ms: number, task: () => void) => void;
}

export type KeyKeeper = ReturnType<typeof makeKeyKeeper>;

export function makeKeyKeeper({ vault, scope, after = afterTimeout }: KeyKeeperParts) {
  /** A scope never changes hands. */
  const tenants = new Map<string, TenantId>();
  /** Scopes whose turn will come, or is. */
  const waiting: Readonly<Record<KeyWorkKind, Set<string>>> = { fill: new Set(), bind: new Set() };
  /** Scopes whose pools may hold keys that nothing uses. */
  const pooled = new Set<string>();
  const running = new Set<Promise<void>>();

  const refOf = async (scopeId: string): Promise<ScopeRef> => {
    let tenantId = tenants.get(scopeId);
    if (tenantId === undefined) {
      tenantId = (await scope(scopeId).latecomers({})).tenantId;
      know(scopeId, tenantId);
    }
    return { tenantId, scopeId: scopeId as ScopeId };
  };
  const know = (scopeId: string, tenantId: TenantId): void => {
    if (tenants.size >= TENANTS_KNOWN_MAX) tenants.delete(tenants.keys().next().value as string);
    tenants.set(scopeId, tenantId);
  };

  /** What a call lacks, from the vault. */
  const fetch = async (scopeId: string, { subjects, pool }: KeyNeeds): Promise<KeySupply> => {
    if (pool?.count === 0) {
      // Another state is about to take this one's place. When it has, the call goes on in that one.
      await new Promise<void>((resolve) => after(FROZEN_MS, resolve));
      return {};
    }
    const ref = await refOf(scopeId);
    if (pool) pooled.add(scopeId);
    const [keys, fresh] = await Promise.all([
      subjects.length === 0 ? undefined : vault.keys(ref, subjects),
      pool === null ? undefined : vault.allot(ref, pool.count),
    ]);
    return {
      ...(keys === undefined ? {} : { keys }),
      ...(pool === null || fresh === undefined ? {} : { allotment: { opening: pool.opening, keys: fresh } }),
    };
  };

  /** Tells the vault of every key that was used, until none waits. Also opens a scope that is closed until then. */
  const bindAll = async (scopeId: string): Promise<void> => {
    const stub = scope(scopeId);
    for (let more = true; more; ) {
      const { tenantId, unbound } = await stub.keyWork({ limit: BATCH });
      await vault.bind({ tenantId, scopeId: scopeId as ScopeId }, unbound);
      // What stands unbound may have been rolled back meanwhile: then there is nothing to mark.
      ({ more } = await stub.keysBound({ bindings: unbound }));
    }
  };

  /** The same for the background: what waits at this moment, and no more than that. */
  const bindWaiting = async (scopeId: string): Promise<void> => {
    const stub = scope(scopeId);
    for (let isFull = true; isFull; ) {
      const { tenantId, unbound } = await stub.keyWork({ limit: BATCH });
      if (unbound.length === 0) return;
      await vault.bind({ tenantId, scopeId: scopeId as ScopeId }, unbound);
      await stub.keysBound({ bindings: unbound });
      isFull = unbound.length === BATCH;
    }
  };

  const fill = async (scopeId: string): Promise<void> => {
    const { tenantId, pool } = await scope(scopeId).keyWork({ limit: 1 });
    if (!pool || pool.count <= 0) return;
    pooled.add(scopeId);
    const keys = await vault.allot({ tenantId, scopeId: scopeId as ScopeId }, pool.count);
    await scope(scopeId).provideKeys({ allotment: { opening: pool.opening, keys } });
  };

  /** Does one kind of work for a scope, one at a time. What fails is done when the scope is opened or copied next. */
  const turn = (what: KeyWorkKind, scopeId: string): void => {
    const run = (what === 'fill' ? fill : bindWaiting)(scopeId)
      .catch(() => undefined)
      .finally(() => {
        waiting[what].delete(scopeId);
        running.delete(run);
      });
    running.add(run);
  };

  return {
    know,
    refOf,
    fetch,
    bindAll,

    /** There is something to do at the vault for a scope, when there is time. Costs nothing. */
    tend: (scopeId: string, what: KeyWorkKind): void => {
      if (waiting[what].has(scopeId)) return;
      waiting[what].add(scopeId);
      after(what === 'fill' ? FILL_AFTER_MS : BIND_AFTER_MS, () => turn(what, scopeId));
    },

    /** Runs a task in which no key is taken, and before which the vault was told of all that were. */
    frozen: async <T>(scopeId: string, work: () => Promise<T>): Promise<T> => {
      await scope(scopeId).freezeKeys({ frozen: true });
      try {
        await bindAll(scopeId);
        // The state that comes is another opening, which nothing has frozen.
        return await work();
      } catch (error) {
        await scope(scopeId)
          .freezeKeys({ frozen: false })
          .catch(() => undefined);
        throw error;
      }
    },

    /** A unit was closed with keys that it never used: the vault ends them. Failing that, they open nothing. */
    returned: (ref: ScopeRef, keyIds: readonly string[]): void => {
      pooled.delete(ref.scopeId);
      if (keyIds.length === 0) return;
      const run = vault
        .handBack(ref, keyIds)
        .catch(() => undefined)
        .finally(() => running.delete(run));
      running.add(run);
    },

    /** Before the engine closes: binds what is unbound and hands back what is unused. Never rejects. */
    settleAll: async (): Promise<void> => {
      const settled = [...new Set([...pooled, ...waiting.fill, ...waiting.bind])].map(async (scopeId) => {
        const stub = scope(scopeId);
        const unused = await stub.giveUpKeys({});
        await Promise.all([bindAll(scopeId), vault.handBack(await refOf(scopeId), unused)]);
      });
      await Promise.allSettled([...settled, ...running]);
      pooled.clear();
    },
  };
}

/** This is wiring: a timer of the runtime, which does not keep the process alive. */
function afterTimeout(ms: number, task: () => void): void {
  const timer = setTimeout(task, ms);
  if (ms >= BIND_AFTER_MS) (timer as { unref?: () => void }).unref?.();
}
