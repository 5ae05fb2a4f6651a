/**
 * A feature: what one part of the directory's unit has, as one value. The unit is all of them together (`unit.ts`), so
 * that an operation is added in its feature, and nowhere else.
 */
import { PlatformError } from '@freehold/contracts';
import type { MigrationSet, UnitContext, UnitMethods } from '@freehold/store';
import type { LongHandler } from '../long-work/handlers.ts';
import type { ChangeHandler, DelegatedHandler, PlanHandler, ReadHandler } from './handlers.ts';
import { mergeDisjoint } from './merge-disjoint.ts';

/** What answers an operation. Most long work keeps its plan with itself. */
type Handler = ReadHandler | ChangeHandler | DelegatedHandler | LongHandler | PlanHandler;

export interface Feature<M extends UnitMethods = UnitMethods, Query extends string = string> {
  /** What answers operations: each of these carries the declaration that it answers. */
  readonly operations?: readonly Handler[];
  /** Applied in order, behind those of the features before this one. The name of an applied set never changes. */
  readonly migrations?: readonly MigrationSet[];
  /** What is asked of the unit beside the operations, by the host administration alone. */
  readonly methods?: (context: UnitContext) => M;
  /** Those of its methods that only read: see `UnitDefinition.queries`. */
  readonly queries?: readonly Query[];
}

/** The methods of features together, each with its exact type. One that has none is inferred with methods of any name. */
export type MethodsOf<Features extends readonly Feature[]> = Features extends readonly [
  Feature<infer M>,
  ...infer Rest extends readonly Feature[],
]
  ? (string extends keyof M ? unknown : M) & MethodsOf<Rest>
  : unknown;

/** Gives a feature its exact type. */
export function defineFeature<M extends UnitMethods, Query extends keyof NoInfer<M> & string>(
  feature: Feature<M, Query>,
): Feature<M> {
  return feature;
}

/**
 * What answers the operations of all features, by their names.
 * @throws TypeError when an operation is answered twice, whether in one way or in two.
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

/** @throws PlatformError `unsupported`, reason `unknown_operation`. */
export function findHandler<H>(handlers: Readonly<Record<string, H>>, operation: string): H {
  const handler = Object.hasOwn(handlers, operation) ? handlers[operation] : undefined;
  if (handler) return handler;
  throw new PlatformError('unsupported', `The directory does not answer ${operation}.`, {
    reason: 'unknown_operation',
  });
}

/** What a unit is that has these features: its methods are known, and none may be there twice, when it is opened. */
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
