/**
 * Keeps the mark of the scopes that rest (see `deliveries-rest-unit.ts`), so that a start need not open a fleet to find out
 * that nothing waits in it.
 *
 * Invariants:
 * 1. No call that may put something in line reaches a scope that rests: the mark goes first, and durably.
 * 2. A scope rests only by the answer of a round of work after which, and during which, nothing else was called there.
 */
import type { Engine, EngineTools, UnitDefinition, UnitMethods, UnitStub, UnitTools } from '@freehold/store';
import { AHEAD_MAX_MS, type IdleScope, idleScopesUnit, NO_BUILD, REST_KEY } from './idle-scopes-unit.ts';
import type { WorkedScope } from './scope-outcomes.ts';

export interface SettleOptions {
  /** For how long a scope must not have been called, in milliseconds. */
  readonly quietMs: number;
  /** What a vertical is at present; undefined for one that does not run here: its scopes are left as they are. */
  readonly buildOf: (vertical: string) => string | undefined;
  /** Scopes that are left as they are, because something else is to be done there yet. */
  readonly isOwed: (scope: string) => boolean;
}

export interface IdleScopes {
  /** The same engine; whatever is asked of a scope through it is noticed. */
  watch(engine: Engine & EngineTools): Engine & EngineTools;
  /**
   * Which of these scopes rest: true where their vertical is what it was when that was found, as `buildOf` says. False where
   * it is another build, which may have other work, or where work may wait but nothing else was to be done.
   */
  resting(
    scopes: readonly WorkedScope[],
    buildOf: SettleOptions['buildOf'],
  ): Promise<ReadonlyMap<string, boolean>>;
  /** The scopes that have come due, at most 200, and when to ask again: milliseconds since the epoch, null for never. */
  takeDue(): Promise<{ readonly items: readonly WorkedScope[]; readonly nextAtMs: number | null }>;
  /**
   * Puts to rest whoever has been quiet. The answer are quiet scopes of which it is not known whether anything waits: a
   * round of work there tells. Among them are those that an earlier call failed over.
   */
  settle(options: SettleOptions): Promise<readonly WorkedScope[]>;
}

export interface IdleScopesOptions {
  readonly engine: Engine;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A scope that has no mark, as far as this process knows. */
interface ActiveScope {
  readonly vertical: string;
  /** Until the mark is gone; null from then on. */
  ready: Promise<unknown> | null;
  calls: number;
  active: number;
  lastAtMs: number;
  /** What the last round of work answered, if nothing was called since. */
  found: { readonly dueAtMs: number | null } | null;
}

const BATCH = 200;
const KIND = /^scope-(.+)$/;

export function makeIdleScopes({ engine, now }: IdleScopesOptions): IdleScopes {
  const marks = engine.unit(idleScopesUnit, REST_KEY, { create: true });
  const active = new Map<string, ActiveScope>();
  /** Taken off the list by a call of `settle` that failed: nobody has been told of them. */
  let unreported: readonly WorkedScope[] = [];

  const markActive = (vertical: string, scope: string): ActiveScope => {
    const known = active.get(scope);
    if (known) return known;
    const ready = marks.disturb({ scope });
    const state: ActiveScope = { vertical, ready, calls: 0, active: 0, lastAtMs: now(), found: null };
    active.set(scope, state);
    // The first to hear of it, so that calls which waited go before those that need not.
    ready.then(
      () => {
        state.ready = null;
      },
      () => forget(scope, state),
    );
    return state;
  };

  const forget = (scope: string, state: ActiveScope): void => {
    if (active.get(scope) === state) active.delete(scope);
  };

  /**
   * One that is gone, or never was, is nothing to keep in mind. While something else is under way it is kept: somebody
   * else's state of it would not count that call, and the scope could rest over what it puts in line.
   */
  const forgetGone = (scope: string, state: ActiveScope): void => {
    if (state.active === 1) forget(scope, state);
  };

  const noticed = async (
    { vertical, scope }: WorkedScope,
    method: string,
    call: () => Promise<unknown>,
  ): Promise<unknown> => {
    const state = markActive(vertical, scope);
    state.calls += 1;
    state.active += 1;
    state.found = null;
    const mine = state.calls;
    try {
      if (state.ready) await state.ready;
      const answer = await call();
      if (method === 'work' && state.active === 1 && state.calls === mine)
        state.found = foundBy(answer as WorkAnswer, now());
      if (method === 'remove') forgetGone(scope, state);
      return answer;
    } catch (error) {
      if (isGone(error)) forgetGone(scope, state);
      throw error;
    } finally {
      state.active -= 1;
      state.lastAtMs = now();
    }
  };

  /** The next few who are quiet, taken off the list: whoever is called from here on begins anew. */
  const markIdle = ({ quietMs, buildOf, isOwed }: SettleOptions) => {
    const items: IdleScope[] = [];
    const unsure: WorkedScope[] = [];
    const nowMs = now();
    for (const [scope, state] of active) {
      if (items.length >= BATCH) break;
      const { vertical, found } = state;
      const build = buildOf(vertical);
      if (build === undefined || isOwed(scope)) continue;
      // A clock that was ahead when it was called last keeps nobody awake.
      state.lastAtMs = Math.min(state.lastAtMs, nowMs);
      if (state.active > 0 || state.ready || nowMs - state.lastAtMs < quietMs) continue;
      active.delete(scope);
      const dueAtMs = found?.dueAtMs == null ? null : Math.min(found.dueAtMs, nowMs + AHEAD_MAX_MS);
      items.push({ scope, vertical, build: found ? build : NO_BUILD, dueAtMs });
      if (!found) unsure.push({ vertical, scope });
    }
    return { items, unsure };
  };

  return {
    watch: (watched) => ({
      capabilities: watched.capabilities,
      close: () => watched.close(),
      unit: (definition, key, options) => {
        const stub = watched.unit(definition, key, options);
        const [, vertical] = KIND.exec(definition.kind) ?? [];
        if (vertical === undefined) return stub;
        return noticing(stub, definition, (method, call) => noticed({ vertical, scope: key }, method, call));
      },
      tools: (definition, key) => {
        const tools = watched.tools(definition, key);
        const [, vertical] = KIND.exec(definition.kind) ?? [];
        if (vertical === undefined) return tools;
        const replacing = <T>(name: string, call: () => Promise<T>): Promise<T> =>
          noticed({ vertical, scope: key }, name, call) as Promise<T>;
        return noticingTools(tools, replacing);
      },
    }),

    resting: async (scopes, buildOf) => {
      const builds = new Map(scopes.map(({ vertical, scope }) => [scope, buildOf(vertical)]));
      const rows = await marks.resting({ scopes: [...builds.keys()] });
      return new Map(rows.map(({ scope, build }) => [scope, builds.get(scope) === build]));
    },

    takeDue: () => marks.takeDue({ nowMs: now(), limit: BATCH }),

    settle: async (options) => {
      const all: WorkedScope[] = [...unreported];
      unreported = [];
      for (;;) {
        // In one step with taking them off the list: the mark of whoever is called next is taken away after this.
        const { items, unsure } = markIdle(options);
        if (items.length === 0) return all;
        try {
          await marks.markIdle({ items });
        } catch (error) {
          unreported = [...unreported, ...all, ...items.map(({ vertical, scope }) => ({ vertical, scope }))];
          throw error;
        }
        all.push(...unsure);
      }
    },
  };
}

/** The engine's refusal, or the scope's own. What an operation did not find is another matter: its scope is there. */
function isGone(error: unknown): boolean {
  const { code, reason } = (error ?? {}) as { readonly code?: unknown; readonly reason?: unknown };
  return code === 'not_found' && (reason === 'unknown_unit' || reason === 'unknown_scope');
}

interface WorkAnswer {
  readonly claimed: readonly unknown[];
  readonly nextAtMs: number | null;
}

function foundBy({ claimed, nextAtMs }: WorkAnswer, nowMs: number): ActiveScope['found'] {
  return claimed.length === 0 && (nextAtMs === null || nextAtMs > nowMs) ? { dueAtMs: nextAtMs } : null;
}

/** What only reads puts nothing in line. */
function noticing<M extends UnitMethods>(
  stub: UnitStub<M>,
  { queries }: UnitDefinition<M>,
  call: (method: string, call: () => Promise<unknown>) => Promise<unknown>,
): UnitStub<M> {
  return new Proxy(stub, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof name !== 'string' || typeof method !== 'function' || queries.includes(name)) return method;
      return (input: unknown) => call(name, () => method(input));
    },
  });
}

/** The tools that put another state in place of a scope: other things wait in that. */
function noticingTools(
  tools: UnitTools,
  call: <T>(name: string, call: () => Promise<T>) => Promise<T>,
): UnitTools {
  return {
    ...tools,
    restore: (format, body, admit) => call('restore', () => tools.restore(format, body, admit)),
    rewind: (target, admit) => call('rewind', () => tools.rewind(target, admit)),
    remove: () => call('remove', () => tools.remove()),
  };
}
