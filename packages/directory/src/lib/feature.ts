/**
 * The front door of a room: whatever it has inside the directory's unit, as one value. The unit is these together
 * (`unit.ts`), so that an operation is added in its room, and nowhere else.
 */
import { PlatformError } from '@freehold/contracts';
import type { MigrationSet, UnitContext, UnitMethods } from '@freehold/store';
import type { z } from 'zod';
import type { AdminOperationName, adminOperations } from '../declarations/index.ts';
import type { LongHandler } from '../long-work/handlers.ts';
import type { ChangeHandler, DelegatedHandler, ReadHandler } from './handlers.ts';
import { mergeDisjoint } from './merge-disjoint.ts';
import type { PlanHandler } from './plans.ts';

/** The operations whose declarations are like this. */
type Declared<Shape> = {
  [Name in AdminOperationName]: (typeof adminOperations)[Name] extends Shape ? Name : never;
}[AdminOperationName];
type Audited = Declared<{ readonly audit: 'audit' }>;
type Long = Declared<{ readonly audit: 'audit'; readonly success: 202 }>;
type ByName<Name extends string, Handler> = Readonly<Partial<Record<Name, Handler>>>;

/** What answers operations, by their names. One whose declaration says that it is of another kind is a type error. */
interface Handlers {
  /** Reads of the directory's own data. */
  readonly reads?: ByName<Exclude<AdminOperationName, Audited>, ReadHandler>;
  /** Changes that are done with the directory's own transaction. */
  readonly changes?: ByName<Exclude<Audited, Long>, ChangeHandler>;
  /** Changes whose effect lies elsewhere; the effects themselves are the host administration's. */
  readonly delegated?: ByName<Exclude<Audited, Long>, DelegatedHandler>;
  /** Long work: it goes on in the background when its call has been answered. Its effects are there too. */
  readonly long?: ByName<Long, LongHandler>;
  /** What changes would touch, as far as the directory knows. Most long work keeps its plan with itself. */
  readonly plans?: ByName<Declared<{ readonly plan: z.ZodObject }>, PlanHandler>;
}

export interface Feature<M extends UnitMethods = UnitMethods, Query extends string = string>
  extends Handlers {
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
 * What answers the operations of all features.
 * @throws TypeError when an operation is answered twice.
 */
export function mergeHandlers(features: readonly Feature[]) {
  const answering = {
    reads: mergeDisjoint<ReadHandler>(features.map(({ reads }) => reads)),
    changes: mergeDisjoint<ChangeHandler>(features.map(({ changes }) => changes)),
    delegated: mergeDisjoint<DelegatedHandler>(features.map(({ delegated }) => delegated)),
    long: mergeDisjoint<LongHandler>(features.map(({ long }) => long)),
  };
  // An operation is answered in one way only, too.
  mergeDisjoint<unknown>(Object.values(answering));
  return { ...answering, plans: mergeDisjoint<PlanHandler>(features.map(({ plans }) => plans)) };
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
