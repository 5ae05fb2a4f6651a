/**
 * A feature: the operations, tables and methods of one concern of the directory's unit, as one value. The unit is all
 * features together (`unit.ts`), so that an operation is added in its feature alone.
 */
import type { MigrationSet, UnitContext, UnitMethods } from '@freehold/store';
import type { ChangeHandler, DelegatedHandler, LongHandler, PlanHandler, ReadHandler } from './handlers.ts';

/** The key of the directory's unit, of which there is one. */
export const DIRECTORY_KEY = 'main';

/** Long work mostly brings its plan itself. */
type Handler = ReadHandler | ChangeHandler | DelegatedHandler | LongHandler | PlanHandler;

export interface Feature<M extends UnitMethods = UnitMethods, Query extends string = string> {
  /** The handlers; each carries the declaration of its operation. */
  readonly operations?: readonly Handler[];
  /** Applied in order, after those of the features before this one. The name of an applied set never changes. */
  readonly migrations?: readonly MigrationSet[];
  /** The methods beside the operations, which the host administration alone calls. */
  readonly methods?: (context: UnitContext) => M;
  /** The methods that only read: see `UnitDefinition.queries`. */
  readonly queries?: readonly Query[];
}

/** The methods of features together, each with its exact type. A feature without methods is inferred with methods of any name. */
export type MethodsOf<Features extends readonly Feature[]> = Features extends readonly [
  Feature<infer M>,
  ...infer Others extends readonly Feature[],
]
  ? (string extends keyof M ? unknown : M) & MethodsOf<Others>
  : unknown;

/** Gives a feature its exact type. */
export function defineFeature<M extends UnitMethods, Query extends keyof NoInfer<M> & string>(
  feature: Feature<M, Query>,
): Feature<M> {
  return feature;
}

/**
 * The handlers of all features, by kind and by the name of their operation.
 * @throws TypeError when an operation has two handlers, of one kind or of two.
 */
export function mergeHandlers(features: readonly Pick<Feature, 'operations'>[]) {
  const all = features.flatMap(({ operations = [] }) => operations);
  const byName = <Kind extends Handler['kind']>(kind: Kind) =>
    mergeDisjoint(
      all
        .filter((each): each is Extract<Handler, { readonly kind: Kind }> => each.kind === kind)
        .map((each) => ({ [each.operation.name]: each })),
    );
  const answering = {
    reads: byName('read'),
    changes: byName('change'),
    delegated: byName('delegated'),
    long: byName('long'),
  };
  mergeDisjoint<unknown>(Object.values(answering));
  return { ...answering, plans: byName('plan') };
}

/** The definition of a unit with these features. */
export function mergeFeatures<const Features extends readonly Feature[]>(features: Features) {
  type M = MethodsOf<Features>;
  return {
    migrations: features.flatMap(({ migrations = [] }) => migrations),
    // Each is a key of the methods of its own feature.
    queries: features.flatMap(({ queries = [] }) => queries) as (keyof M & string)[],
    /** @throws TypeError when two features have a method of one name. */
    open: (context: UnitContext) => mergeDisjoint(features.map(({ methods }) => methods?.(context))) as M,
  };
}

/**
 * Merges tables. A name in two of them is a mistake, because one entry would silently replace the other.
 * @throws TypeError for a name that two of the tables have.
 */
export function mergeDisjoint<T>(
  tables: readonly (Readonly<Record<string, T>> | undefined)[],
): Readonly<Record<string, T>> {
  const all = new Map<string, T>();
  for (const [name, value] of tables.flatMap((table) => Object.entries(table ?? {}))) {
    if (all.has(name)) throw new TypeError(`${name} is there twice`);
    all.set(name, value);
  }
  return Object.fromEntries(all);
}
