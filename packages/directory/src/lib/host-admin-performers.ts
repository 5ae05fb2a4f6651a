/**
 * Which operation is performed by what: one table, made once with the host administration. A part claims by name what it
 * performs. What no part claims is the directory's own, in the way that its declaration says.
 *
 * Invariant: every declared operation has exactly one performer, or there is no table.
 */
import type { AdminCall, AdminResult } from '../actors.ts';
import type { AdminOperation, AuditRule } from '../declarations/admin-operation.ts';
import { mergeDisjoint } from './merge-disjoint.ts';

/** Performs a call that was admitted. Rejects with a `PlatformError`. */
export type Performer = (call: AdminCall, operation: AdminOperation) => Promise<AdminResult>;

/** What a part performs, by operation. */
export type Performers = Readonly<Record<string, Performer>>;

/** What performs an operation by what its declaration says. */
export interface DeclaredPerformers {
  /** Work that goes on when its call has been answered (202). It makes its plans itself. */
  readonly longWork: { performs(operation: string): boolean; readonly perform: Performer };
  /** What `?dryRun=true` answers, where a plan is declared. */
  readonly plan: Performer;
  /** Inside the directory, by what is written down about the call. */
  readonly own: Readonly<Record<AuditRule, Performer>>;
}

export interface Performed {
  readonly operation: AdminOperation;
  readonly perform: Performer;
}

/**
 * The table, by operation.
 * @throws TypeError for a name that two parts claim, for one that is no operation's, and where long work and its
 * declaration do not agree.
 */
export function makePerformers(
  declared: Readonly<Record<string, AdminOperation>>,
  parts: readonly Performers[],
  { longWork, plan, own }: DeclaredPerformers,
): ReadonlyMap<string, Performed> {
  const operations = Object.values(declared);
  const longNames = operations.map(({ name }) => name).filter((name) => longWork.performs(name));
  const claimed = mergeDisjoint([
    ...parts,
    Object.fromEntries(longNames.map((name) => [name, longWork.perform])),
  ]);
  const unknown = Object.keys(claimed).find((name) => !Object.hasOwn(declared, name));
  if (unknown !== undefined) throw new TypeError(`there is no operation ${unknown}`);

  const performerOf = (operation: AdminOperation): Performer => {
    const { name, audit } = operation;
    const isLong = operation.success === 202;
    if (isLong !== longWork.performs(name))
      throw new TypeError(
        isLong ? `nobody does the long work ${name}` : `${name} is not declared as long work`,
      );
    const perform = claimed[name] ?? own[audit];
    if (!operation.plan || isLong) return perform;
    return (call) => (call.query.dryRun === true ? plan(call, operation) : perform(call, operation));
  };

  return new Map(
    operations.map((operation) => [operation.name, { operation, perform: performerOf(operation) }]),
  );
}

/** A performer for each entry of a table. */
export function performersOf<T>(
  table: Readonly<Record<string, T>>,
  performerOf: (entry: T) => Performer,
): Performers {
  return Object.fromEntries(Object.entries(table).map(([name, entry]) => [name, performerOf(entry)]));
}

/** What a read answers that no row of the directory is shown by. */
export function found(value: unknown): AdminResult {
  return { status: 200, value, replayed: false };
}
