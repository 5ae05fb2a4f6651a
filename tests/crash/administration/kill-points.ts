/**
 * An engine that can be killed at any step: before and after each call of a unit, and before each statement that
 * writes. So every kind of mutation is interrupted in its middle, however fast the machine is.
 */
import type { NodeEngine } from '@freehold/engine-node';
import type { SqlDatabase, UnitDefinition, UnitMethods } from '@freehold/store';

export interface KillPoints {
  readonly engine: NodeEngine;
  /** Lets calls of another object be points too. */
  watch<T extends object>(target: T): T;
  /** Dies at that point from now on. */
  arm(at: number): void;
  /** The number of points since it was armed. */
  readonly passed: number;
}

/** @param die Default: ends this process, as a power cut would. */
export function makeKillPoints(
  engine: NodeEngine,
  die: () => void = () => process.kill(process.pid, 'SIGKILL'),
): KillPoints {
  let at = Number.POSITIVE_INFINITY;
  let passed = 0;
  const point = (): void => {
    passed += 1;
    if (passed >= at) die();
  };
  const watched = new WeakMap<object, UnitDefinition>();
  const watch = <M extends UnitMethods>(definition: UnitDefinition<M>): UnitDefinition<M> => {
    const known = watched.get(definition) as UnitDefinition<M> | undefined;
    if (known) return known;
    const made: UnitDefinition<M> = {
      ...definition,
      open: (context) => definition.open({ ...context, db: watchWrites(context.db, point) }),
    };
    watched.set(definition, made as unknown as UnitDefinition);
    return made;
  };
  return {
    watch: (target) => watchCalls(target, point),
    engine: {
      ...engine,
      unit: (definition, key, options) => watchCalls(engine.unit(watch(definition), key, options), point),
      tools: (definition, key) => watchCalls(engine.tools(watch(definition), key), point),
    },
    arm: (next) => {
      passed = 0;
      at = next;
    },
    get passed() {
      return passed;
    },
  };
}

function watchWrites(db: SqlDatabase, point: () => void): SqlDatabase {
  return new Proxy(db, {
    get: (target, name) => {
      const member = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...input: unknown[]) => {
        if (name === 'run') point();
        return member.apply(target, input);
      };
    },
  });
}

function watchCalls<T extends object>(stub: T, point: () => void): T {
  return new Proxy(stub, {
    get: (target, name) => {
      const member = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return async (...input: unknown[]) => {
        point();
        const answer = await member.apply(target, input);
        point();
        return answer;
      };
    },
  });
}
