/**
 * Marks idle scopes durably, so that a start need not open a whole fleet to learn that no work waits in it.
 *
 * Invariants:
 * 1. No call that may enqueue work reaches a marked scope: the mark is removed first, durably. A crash errs towards looking.
 * 2. A scope is marked only by the answer of a round of work during and after which no other call was made there.
 */
import {
  defineUnit,
  type Engine,
  type EngineTools,
  type UnitContext,
  type UnitDefinition,
  type UnitMethods,
  type UnitStub,
  type UnitTools,
} from '@freehold/store';
import type { WorkedScope } from './scope-outcomes.ts';

const UNIT_KEY = 'main';

/** The build of no vertical: a scope with it is looked into, and only that. */
const NO_BUILD = '';

/**
 * A mark is due this far ahead at most, so that a later one was set by a wrong clock and is ignored. A scope whose work is
 * further away is looked into once in that time.
 */
export const AHEAD_MAX_MS = 7 * 86_400_000;

interface IdleScope {
  readonly scope: string;
  readonly vertical: string;
  /** The build of the vertical at that time: another build may have other work. */
  readonly build: string;
  /** Milliseconds since the epoch, at most {@link AHEAD_MAX_MS} from now; null when no work waits. */
  readonly dueAtMs: number | null;
}

/** The due scopes, and when the next one is due: milliseconds since the epoch, null for never. */
interface DueScopes {
  readonly items: readonly WorkedScope[];
  readonly nextAtMs: number | null;
}

/** Queries over the marks of a whole fleet: each uses the key, or the index by due time. */
export const REST_SQL = {
  resting: 'SELECT scope, build FROM json_each(?) AS asked CROSS JOIN resting_scopes ON scope = asked.value',
  due: 'SELECT scope, vertical FROM resting_scopes WHERE due_at <= ? ORDER BY due_at LIMIT ?',
  ahead: 'SELECT scope, vertical FROM resting_scopes WHERE due_at > ? ORDER BY due_at LIMIT ?',
  nextDue: 'SELECT due_at AS at FROM resting_scopes WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1',
} as const;

/**
 * The unit: kind `rest`, one of it. A mark is true of this data directory now, and of no copy: in an archive it would
 * vouch for scopes that were restored to another moment.
 */
export const idleScopesUnit = defineUnit({
  kind: 'rest',
  copies: 'derived',
  migrations: [
    {
      name: 'rest',
      migrations: [
        {
          version: 1,
          name: 'scopes that rest',
          sql: `
CREATE TABLE resting_scopes (
  scope TEXT PRIMARY KEY, vertical TEXT NOT NULL, build TEXT NOT NULL, due_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX resting_scopes_due ON resting_scopes (due_at) WHERE due_at IS NOT NULL;
`,
        },
      ],
    },
  ],
  queries: ['marked'],
  open: ({ db }: UnitContext) => ({
    /** Removes the mark of a scope: work may be enqueued there from now on. */
    disturb: ({ scope }: { readonly scope: string }): null => {
      db.run('DELETE FROM resting_scopes WHERE scope = ?', scope);
      return null;
    },
    markIdle: ({ items }: { readonly items: readonly IdleScope[] }): null => {
      for (const { scope, vertical, build, dueAtMs } of items)
        db.run(
          `INSERT INTO resting_scopes (scope, vertical, build, due_at) VALUES (?, ?, ?, ?)
           ON CONFLICT (scope) DO UPDATE SET vertical = excluded.vertical, build = excluded.build, due_at = excluded.due_at`,
          ...[scope, vertical, build, dueAtMs],
        );
      return null;
    },
    /** The marked ones of these scopes, each with the build of its mark. */
    marked: ({
      scopes,
    }: {
      readonly scopes: readonly string[];
    }): readonly { readonly scope: string; readonly build: string }[] =>
      db.all(REST_SQL.resting, JSON.stringify(scopes)),
    /**
     * Returns the due scopes, and those with an impossible time, and gives them no build: if the caller crashes, the next
     * process looks into them.
     */
    takeDue: ({ nowMs, limit }: { readonly nowMs: number; readonly limit: number }): DueScopes => {
      const aheadMs = nowMs + AHEAD_MAX_MS;
      const due = db.all<WorkedScope>(REST_SQL.due, nowMs, limit);
      const items = [...due, ...db.all<WorkedScope>(REST_SQL.ahead, aheadMs, limit - due.length)];
      for (const { scope } of items)
        db.run('UPDATE resting_scopes SET build = ?, due_at = NULL WHERE scope = ?', NO_BUILD, scope);
      const next = db.get<{ at: number }>(REST_SQL.nextDue);
      const isMoreAhead = db.get(REST_SQL.ahead, aheadMs, 1) !== undefined;
      return { items, nextAtMs: isMoreAhead ? nowMs : (next?.at ?? null) };
    },
  }),
});

export interface SettleOptions {
  /** The time for which a scope must not have been called, in milliseconds. */
  readonly quietMs: number;
  /** The present build of a vertical; undefined for one that does not run here: its scopes are left as they are. */
  readonly buildOf: (vertical: string) => string | undefined;
  /** Whether a scope is left as it is, because usage is still to be collected there. */
  readonly isOwed: (scope: string) => boolean;
}

/** A scope that has no mark, as far as this process knows. */
interface ActiveScope {
  readonly vertical: string;
  /** Pending until the mark is removed; null from then on. */
  ready: Promise<unknown> | null;
  calls: number;
  active: number;
  lastAtMs: number;
  /** The result of the last round of work, if no other call was made since. */
  found: { readonly dueAtMs: number | null } | null;
}

const BATCH = 200;
const KIND = /^scope-(.+)$/;

/** The marks of this process's scopes. State: the scopes without a mark, by id, and their calls in progress. */
export class IdleScopes {
  readonly #marks: UnitStub<ReturnType<typeof idleScopesUnit.open>>;
  readonly #now: () => number;
  readonly #active = new Map<string, ActiveScope>();
  /** Scopes that a failed call of `settle` took off the list without returning them. */
  #unreported: readonly WorkedScope[] = [];

  /** @param now milliseconds since the epoch. */
  constructor({ engine, now }: { readonly engine: Engine; readonly now: () => number }) {
    this.#marks = engine.unit(idleScopesUnit, UNIT_KEY, { create: true });
    this.#now = now;
  }

  /** The same engine; calls of scopes through it are noticed. */
  watch(watched: Engine & EngineTools): Engine & EngineTools {
    return {
      capabilities: watched.capabilities,
      close: () => watched.close(),
      ...(watched.beforeClose ? { beforeClose: watched.beforeClose.bind(watched) } : {}),
      unit: (definition, key, options) => {
        const stub = watched.unit(definition, key, options);
        const [, vertical] = KIND.exec(definition.kind) ?? [];
        return vertical === undefined ? stub : this.#watchedStub(stub, definition, { vertical, scope: key });
      },
      tools: (definition, key) => {
        const tools = watched.tools(definition, key);
        const [, vertical] = KIND.exec(definition.kind) ?? [];
        return vertical === undefined ? tools : this.#watchedTools(tools, { vertical, scope: key });
      },
    };
  }

  /**
   * The marked ones of these scopes: true where the mark is of the present build of their vertical. False where another
   * build may have other work, or where work may wait but usage was collected.
   */
  async marked(
    scopes: readonly WorkedScope[],
    buildOf: SettleOptions['buildOf'],
  ): Promise<ReadonlyMap<string, boolean>> {
    const builds = new Map(scopes.map(({ vertical, scope }) => [scope, buildOf(vertical)]));
    const rows = await this.#marks.marked({ scopes: [...builds.keys()] });
    return new Map(rows.map(({ scope, build }) => [scope, builds.get(scope) === build]));
  }

  /** The scopes that have become due, at most 200, and when to ask again. */
  takeDue(): Promise<DueScopes> {
    return this.#marks.takeDue({ nowMs: this.#now(), limit: BATCH });
  }

  /**
   * Marks idle scopes. Returns the idle scopes whose queue state is unknown, with those that an earlier call failed over:
   * a round of work there finds out.
   */
  async settle(options: SettleOptions): Promise<readonly WorkedScope[]> {
    const all: WorkedScope[] = [...this.#unreported];
    this.#unreported = [];
    for (;;) {
      // Listed and marked in one step: a call after this removes the new mark.
      const { items, unsure } = this.#takeIdle(options);
      if (items.length === 0) return all;
      try {
        await this.#marks.markIdle({ items });
      } catch (error) {
        const failed = items.map(({ vertical, scope }) => ({ vertical, scope }));
        this.#unreported = [...this.#unreported, ...all, ...failed];
        throw error;
      }
      all.push(...unsure);
    }
  }

  /** Takes the next idle scopes off the list; a later call of one of them begins a new entry. */
  #takeIdle({ quietMs, buildOf, isOwed }: SettleOptions) {
    const items: IdleScope[] = [];
    const unsure: WorkedScope[] = [];
    const nowMs = this.#now();
    for (const [scope, state] of this.#active) {
      if (items.length >= BATCH) break;
      const { vertical, found } = state;
      const build = buildOf(vertical);
      if (build === undefined || isOwed(scope)) continue;
      // A last call in the future counts as now: the clock was wrong then.
      state.lastAtMs = Math.min(state.lastAtMs, nowMs);
      if (state.active > 0 || state.ready || nowMs - state.lastAtMs < quietMs) continue;
      this.#active.delete(scope);
      const dueAtMs = found?.dueAtMs == null ? null : Math.min(found.dueAtMs, nowMs + AHEAD_MAX_MS);
      items.push({ scope, vertical, build: found ? build : NO_BUILD, dueAtMs });
      if (!found) unsure.push({ vertical, scope });
    }
    return { items, unsure };
  }

  /** Makes a call of a scope: after its mark is removed, and counted for invariant 2. */
  async #call<T>({ vertical, scope }: WorkedScope, method: string, call: () => Promise<T>): Promise<T> {
    const state = this.#markActive(vertical, scope);
    state.calls += 1;
    state.active += 1;
    state.found = null;
    const mine = state.calls;
    try {
      if (state.ready) await state.ready;
      const answer = await call();
      if (method === 'work' && state.active === 1 && state.calls === mine)
        state.found = foundBy(answer as WorkAnswer, this.#now());
      if (method === 'remove') this.#forgetGone(scope, state);
      return answer;
    } catch (error) {
      if (isGone(error)) this.#forgetGone(scope, state);
      throw error;
    } finally {
      state.active -= 1;
      state.lastAtMs = this.#now();
    }
  }

  #markActive(vertical: string, scope: string): ActiveScope {
    const known = this.#active.get(scope);
    if (known) return known;
    const ready = this.#marks.disturb({ scope });
    const state: ActiveScope = { vertical, ready, calls: 0, active: 0, lastAtMs: this.#now(), found: null };
    this.#active.set(scope, state);
    // Registered first, so that calls which waited go before those that need not wait.
    ready.then(
      () => {
        state.ready = null;
      },
      () => this.#forget(scope, state),
    );
    return state;
  }

  #forget(scope: string, state: ActiveScope): void {
    if (this.#active.get(scope) === state) this.#active.delete(scope);
  }

  /**
   * Forgets a scope that does not exist. Not while another call is in progress: a new entry would not count that call, and
   * the scope could be marked over the work it enqueues.
   */
  #forgetGone(scope: string, state: ActiveScope): void {
    if (state.active === 1) this.#forget(scope, state);
  }

  /** Queries enqueue no work, and pass. */
  #watchedStub<M extends UnitMethods>(
    stub: UnitStub<M>,
    { queries }: UnitDefinition<M>,
    scope: WorkedScope,
  ): UnitStub<M> {
    return new Proxy(stub, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof name !== 'string' || typeof method !== 'function' || queries.includes(name)) return method;
        return (input: unknown) => this.#call(scope, name, () => method(input));
      },
    });
  }

  /** The tools that replace the state of a scope: other work waits in the new state. */
  #watchedTools(tools: UnitTools, scope: WorkedScope): UnitTools {
    return {
      ...tools,
      restore: (...given) => this.#call(scope, 'restore', () => tools.restore(...given)),
      rewind: (...given) => this.#call(scope, 'rewind', () => tools.rewind(...given)),
      remove: () => this.#call(scope, 'remove', () => tools.remove()),
    };
  }
}

/** The refusal of the engine, or of the scope itself. An operation that does not find a record is another matter. */
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
