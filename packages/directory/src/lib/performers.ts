/**
 * The performer of each operation: one table, made once with the host administration. A feature claims by name the operations
 * that it performs. All others are the directory's own, and their declaration says how.
 *
 * Invariant: every declared operation has exactly one performer, or the table is not made.
 */
import { namePage, openCursor } from '@freehold/contracts';
import { isList } from '@freehold/operations';
import type { AdminCall, AdminResult } from '../access/actors.ts';
import type { AdminOperation, AuditRule } from '../declarations/admin-operation.ts';
import { mergeDisjoint } from './feature.ts';

/** Performs a call that was admitted. Rejects with a `PlatformError`. */
export type Performer = (call: AdminCall, operation: AdminOperation) => Promise<AdminResult>;

/** Performers by the name of their operation. */
export type Performers = Readonly<Record<string, Performer>>;

/** The performers that the declaration of an operation chooses from. */
export interface DeclaredPerformers {
  /** Work that goes on after its call was answered (202). It makes its plans itself. */
  readonly longWork: { performs(operation: string): boolean; readonly perform: Performer };
  /** Answers `?dryRun=true`, where a plan is declared. */
  readonly plan: Performer;
  /** Performs inside the directory, by the log that the call is written to. */
  readonly own: Readonly<Record<AuditRule, Performer>>;
}

export interface Performed {
  readonly operation: AdminOperation;
  readonly perform: Performer;
}

/**
 * Makes the table.
 * @throws TypeError for a name that two features claim, for one that is no operation's, and where long work and its
 * declaration differ.
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
        isLong ? `the long work ${name} has no performer` : `${name} is not declared as long work`,
      );
    const perform = ofList(operation, claimed[name] ?? own[audit]);
    if (!operation.plan || isLong) return perform;
    return (call) => (call.query.dryRun === true ? plan(call, operation) : perform(call, operation));
  };

  return new Map(
    operations.map((operation) => [operation.name, { operation, perform: performerOf(operation) }]),
  );
}

/** The performer of a list takes and gives out only cursors of this list. */
function ofList({ name, input, output }: AdminOperation, perform: Performer): Performer {
  if (!isList(input.query, output)) return perform;
  return async (call, operation) => {
    const result = await perform({ ...call, query: openCursor(name, call.query) }, operation);
    return { ...result, value: namePage(name, result.value) };
  };
}

/** Makes a performer for each entry of a table. */
export function performersOf<T>(
  table: Readonly<Record<string, T>>,
  performerOf: (entry: T) => Performer,
): Performers {
  return Object.fromEntries(Object.entries(table).map(([name, entry]) => [name, performerOf(entry)]));
}

/** The result of a read that is no row of the directory. */
export function found(value: unknown): AdminResult {
  return { status: 200, value, replayed: false };
}
