/**
 * One invocation of one operation: input checked, permission proven, a repeat answered, precondition met, `run` called,
 * output checked, all of it recorded; or no writes at all and, for a refusal, one denial row.
 *
 * The permission comes first: a caller who would be refused now learns nothing from a replay or a version.
 */
import {
  type EntityRef,
  type EventId,
  IN_WORDS,
  type InvocationId,
  type InvokeResult,
  namePage,
  openCursor,
  PlatformError,
  type SubjectCaller,
  type SubjectReader,
  validationError,
} from '@freehold/contracts';
import { isList, isReadOnly, type OperationDeclaration } from '@freehold/operations';
import { isThenable, RollbackThen, TransactionLost } from '@freehold/store';
import type { ScopeInvoke } from '../contract/scope-methods.ts';
import type { DenialStore } from '../denials/store.ts';
import { keyedCall, type makeIdempotency } from '../idempotency/idempotency.ts';
import { isKeysNeeded, keysNeeded, noVault } from '../keys/key-needs.ts';
import { needsFor, requireSubjectName } from '../keys/subject-keys.ts';
import { programColumn } from '../lib/programs.ts';
import { soundError } from '../lib/thrown.ts';
import { assertJson, jsonCopy, NotJson } from '../lib/values.ts';
import type { OperationContext, Proof, Vertical } from '../vertical/vertical.ts';
import { contextOf, demand } from './context.ts';
import type { ContextParts, Frame, Invocation } from './frame.ts';

type Operation = OperationDeclaration<OperationContext>;

/** The greatest depth of nested operations. */
const NESTING_MAX = 16;
/** The number of persons that an operation may make without a declaration. */
const NEW_SUBJECTS_DEFAULT = 4;
const NEW_SUBJECTS_MAX = 10_000;

export interface InvokeParts extends ContextParts {
  readonly denials: DenialStore;
  readonly idempotency: ReturnType<typeof makeIdempotency>;
  /** Called after each operation that was performed for a caller: neither for a replay nor for a nested one. */
  readonly onPerformed: () => void;
}

export type InvokeInput = Omit<ScopeInvoke, 'tenantId'>;

/** Facts that the scope itself adds to a call. */
export interface InvokeOptions {
  /** Persons whom the delivery declares beside those of the operation. */
  readonly declared?: readonly string[];
  /** The length of the chain that led to the call's cause, where it was just read. */
  readonly causeHops?: number;
  readonly step?: StepOfWork | undefined;
}

/** A step of long work, which no caller can name. */
export interface StepOfWork {
  readonly operation: Operation;
  /** The length of the chain that led to the work. */
  readonly hops: number;
  /** The proof of the permission, once all was decided; null: it is judged. */
  readonly proof: Proof | null;
}

export type Invoke = (input: InvokeInput, options?: InvokeOptions) => InvokeResult;

/** An operation that is about to run: found, its input parsed, its permission proven. */
interface Call {
  readonly name: string;
  readonly operation: Operation;
  readonly input: unknown;
  readonly proof: Proof;
  readonly parent: InvocationId | null;
  readonly cause: EventId | null;
  readonly depth: number;
  readonly idempotencyKey: string | null;
}

interface Invoker extends InvokeParts {
  readonly operations: ReadonlyMap<string, Operation>;
  /** The names of the operations that answer lists: their cursors carry it. */
  readonly lists: ReadonlySet<string>;
  readonly isSealing: boolean;
  readonly reader: SubjectReader;
}

/** Builds the scope's `invoke`. */
export function makeInvoke(parts: InvokeParts): Invoke {
  const { readOnlySql, unit, denials, vertical } = parts;
  const invoker: Invoker = {
    ...parts,
    operations: new Map<string, Operation>(Object.entries(vertical.operations)),
    lists: listsOf(vertical),
    isSealing: sealsAnything(vertical),
    reader: {
      get: (sql, ...params) => readOnlySql.get(sql, ...params),
      all: (sql, ...params) => readOnlySql.all(sql, ...params),
    },
  };
  return (request, { declared = [], causeHops, step } = {}) => {
    const invocation: Invocation = {
      principal: request.principal,
      program: request.program,
      nowMs: unit.now(),
      hops: 0,
      hasVault: request.keys !== undefined,
      declared: new Set(declared),
      made: new Set(),
      newSubjectsLeft: 0,
      refusal: null,
      undeclared: null,
      subjects: null,
    };
    try {
      return perform(invoker, request, invocation, { causeHops: step?.hops ?? causeHops, step });
    } catch (error) {
      const { refusal, undeclared } = invocation;
      if (error instanceof TransactionLost) throw error;
      if (!refusal) throw undeclared ?? error;
      throw new RollbackThen(refusal.error, () =>
        denials.save(unit.newId('dnl'), refusal.denial, invocation.nowMs),
      );
    }
  };
}

function perform(
  invoker: Invoker,
  request: InvokeInput,
  invocation: Invocation,
  { causeHops, step }: Pick<InvokeOptions, 'step'> & { readonly causeHops: number | undefined },
): InvokeResult {
  const { events, idempotency } = invoker;
  const { operation: name, principal, idempotencyKey, ifMatch, cause = null } = request;
  const operation = step?.operation ?? invoker.operations.get(name);
  if (!operation)
    throw new PlatformError('not_found', 'There is no such operation.', { reason: 'unknown_operation' });
  if (cause !== null) {
    const hops = causeHops ?? events.hops(cause);
    if (hops === undefined)
      throw new PlatformError('not_found', 'There is no such event in this scope.', {
        reason: 'unknown_cause',
      });
    invocation.hops = hops + 1;
  }
  const sent = jsonInput(request.input);
  const parsed = attempt(name, (value) => operation.input.safeParse(value, IN_WORDS), sent);
  if (!parsed.success) throw validationError('The input', parsed.error);
  const input = ownInput(invoker, name, parsed.data);

  const entity = entityOf(invoker, name, operation, input);
  const readOnly = isReadOnly(operation);
  const { permission } = operation;
  const proof =
    step?.proof ?? demand(invoker, invocation, { operation: name, permission, entity, writes: !readOnly });
  const keyed =
    readOnly || idempotencyKey === undefined
      ? null
      : keyedCall({
          principal,
          operation: name,
          key: idempotencyKey,
          input: sent,
          nowMs: invocation.nowMs,
        });
  const stored = keyed && idempotency.recall(keyed);
  if (stored) return stored;
  if (ifMatch !== undefined && !readOnly) requireVersion(invoker, entity, ifMatch);
  look(invoker, invocation, { name, operation, input });

  const call = { name, operation, entity };
  const { output, id } = runFrame(invoker, invocation, {
    name,
    operation,
    input,
    proof,
    parent: null,
    cause,
    depth: 0,
    idempotencyKey: keyed?.key ?? null,
  });
  const result: InvokeResult = {
    output,
    invocation: readOnly ? null : id,
    version: versionAfter(invoker, call, output),
    replayed: false,
  };
  if (keyed) idempotency.store(keyed, result, [...(invocation.subjects ?? [])].sort());
  invoker.onPerformed();
  return result;
}

/**
 * The look before a handler: the persons whose data it touches, and the number of persons it makes. A host whose scope
 * lacks a key fetches it, and the look is made again.
 * @throws PlatformError `unavailable`, reason `subject_keys_needed`. The handler has not run.
 */
function look(
  invoker: Invoker,
  invocation: Invocation,
  { name, operation, input }: Pick<Call, 'name' | 'operation' | 'input'>,
): void {
  const { reader, subjectKeys, isSealing } = invoker;
  const subjects = operation.subjects
    ? attempt(
        name,
        (value) => operation.subjects?.(value, reader, callerOf(invoker, invocation)) ?? [],
        input,
      )
    : [];
  for (const each of subjects)
    invocation.declared.add(requireSubjectName(`operation ${name}, subjects()`, each));
  invocation.newSubjectsLeft = isReadOnly(operation) ? 0 : newSubjectsOf(name, operation, input);
  const isMaking = invocation.hasVault && (operation.newSubjects !== undefined || isSealing);
  const needs = needsFor(subjectKeys, invocation.declared, isMaking ? invocation.newSubjectsLeft : 0);
  if (needs) throw keysNeeded(needs);
}

function callerOf({ permissions, works }: Invoker, { principal, program, nowMs }: Invocation): SubjectCaller {
  return {
    reach: (permission, entityType) =>
      permissions.reach({ principal, program, permission, entityType, nowMs }),
    markedWork: works.marked,
  };
}

function entityOf(
  { requireEntity }: Invoker,
  name: string,
  operation: Operation,
  input: unknown,
): EntityRef | undefined {
  return operation.entity === undefined
    ? undefined
    : requireEntity(attempt(name, operation.entity, input), `operation ${name}, entity()`);
}

/** The version of the record that a call made, or else of the one that it was about. */
function versionAfter(
  { events, requireEntity }: Invoker,
  { name, operation, entity }: Pick<Call, 'name' | 'operation'> & { readonly entity: EntityRef | undefined },
  output: unknown,
): string | null {
  const about =
    operation.created === undefined
      ? entity
      : requireEntity(attempt(name, operation.created, output), `operation ${name}, created()`);
  return about === undefined ? null : events.version(about);
}

function requireVersion({ events }: Invoker, entity: EntityRef | undefined, ifMatch: string): void {
  if (!entity)
    throw new PlatformError('validation_failed', 'This operation has no version that If-Match could name.', {
      reason: 'no_version',
    });
  const version = events.version(entity);
  if (version !== null && (ifMatch === '*' || ifMatch === version)) return;
  throw new PlatformError(
    'precondition_failed',
    'This was changed in the meantime. Load it again and repeat your change.',
  );
}

function runFrame(
  invoker: Invoker,
  invocation: Invocation,
  call: Call,
): { readonly output: unknown; readonly id: InvocationId } {
  const { unit, events } = invoker;
  const { name, operation, input } = call;
  const frame: Frame = {
    invocation,
    name,
    id: unit.newId('inv') as InvocationId,
    cause: call.cause,
    readOnly: isReadOnly(operation),
    proof: call.proof,
    depth: call.depth,
    lastEvent: null,
    proofText: null,
    open: true,
  };
  let output: unknown;
  try {
    const context = contextOf(invoker, frame, (nested, given) => invokeNested(invoker, frame, nested, given));
    output = outputOf(name, operation, operation.run(context, input));
    if (invoker.lists.has(name)) output = namePage(name, output);
  } catch (error) {
    // Only the look asks for keys: a handler that has run is not run again.
    throw isKeysNeeded(error) ? noVault() : soundError(name, error);
  } finally {
    frame.open = false;
  }
  if (invocation.undeclared) throw invocation.undeclared;
  if (invocation.refusal) throw invocation.refusal.error;
  if (!frame.readOnly) {
    events.saveInvocation({
      id: frame.id,
      operation: name,
      principal: invocation.principal,
      parent: call.parent,
      cause: call.cause,
      idempotencyKey: call.idempotencyKey,
      program: programColumn(invocation.program),
      startedAtMs: invocation.nowMs,
      durationMs: Math.max(0, unit.now() - invocation.nowMs),
    });
  }
  return { output, id: frame.id };
}

/**
 * Runs an operation that another one invoked, in a savepoint of its own: when `run` catches its failure and goes on,
 * none of its writes stay, nor events of an invocation that was never recorded.
 */
function invokeNested(invoker: Invoker, frame: Frame, name: string, given: unknown): unknown {
  const { unit } = invoker;
  const { invocation } = frame;
  const where = `operation ${frame.name} invoked ${name}`;
  if (frame.depth >= NESTING_MAX) throw new TypeError(`${where} more than ${NESTING_MAX} levels deep`);
  const operation = invoker.operations.get(name);
  if (!operation) throw new TypeError(`${where}, and there is no such operation`);
  if (frame.readOnly && !isReadOnly(operation))
    throw new TypeError(`${where}, which writes, and is read only itself`);
  // The caller of the outer operation did not write this input: a misfit is the vertical's bug.
  const parsed = attempt(
    name,
    (value) => operation.input.safeParse(value, IN_WORDS),
    given === undefined ? undefined : assertJson(`${where}, input`, given),
  );
  if (!parsed.success)
    throw new TypeError(
      `${where} with an input that does not fit: ${validationError('It', parsed.error).message}`,
    );
  const nestedInput = ownInput(invoker, name, parsed.data);
  const work = (): unknown => {
    const entity = entityOf(invoker, name, operation, nestedInput);
    return runFrame(invoker, invocation, {
      name,
      operation,
      input: nestedInput,
      proof: demand(invoker, invocation, {
        operation: name,
        permission: operation.permission,
        entity,
        writes: !isReadOnly(operation),
      }),
      parent: frame.id,
      cause: frame.lastEvent ?? frame.cause,
      depth: frame.depth + 1,
      idempotencyKey: null,
    }).output;
  };
  return isReadOnly(operation) ? work() : unit.db.savepoint(work);
}

/** Returns the names of the operations that answer lists. */
function listsOf({ operations }: Vertical): ReadonlySet<string> {
  const lists = Object.entries(operations).filter(([, { input, output }]) => isList(input, output));
  return new Set(lists.map(([name]) => name));
}

/** Returns the input of an operation; a cursor must be one that it gave out. @throws PlatformError `validation_failed`. */
function ownInput({ lists }: Invoker, name: string, input: unknown): unknown {
  return lists.has(name) ? openCursor(name, input) : input;
}

/**
 * Whether a vertical seals anything, by its declarations. Scopes of another vertical are spared the pool: an operation
 * of theirs that makes persons declares them itself.
 */
function sealsAnything({ operations, subscriptions = {}, executors = {}, onShred }: Vertical): boolean {
  return (
    onShred !== undefined ||
    [operations, subscriptions, executors].some((table) =>
      Object.values(table).some((each) => each.subjects !== undefined || 'newSubjects' in each),
    )
  );
}

function newSubjectsOf(name: string, operation: Operation, input: unknown): number {
  const { newSubjects } = operation;
  if (!newSubjects) return NEW_SUBJECTS_DEFAULT;
  const count = attempt(name, (value) => newSubjects(value), input);
  if (Number.isSafeInteger(count) && count >= 0 && count <= NEW_SUBJECTS_MAX) return count;
  throw new TypeError(
    `operation ${name}, newSubjects(): answers a whole number from 0 to ${NEW_SUBJECTS_MAX}`,
  );
}

/** Calls a function of the vertical; its thrown value is made safe to handle. */
function attempt<I, O>(operation: string, work: (input: I) => O, input: I): O {
  try {
    return work(input);
  } catch (error) {
    throw soundError(operation, error);
  }
}

/** Returns a copy of the sent input. @throws PlatformError `validation_failed` when it is no JSON value. */
function jsonInput(input: unknown): unknown {
  if (input === undefined) return undefined;
  try {
    return jsonCopy(input, { wellFormed: true });
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    const { path, fault } = error;
    throw new PlatformError('validation_failed', `The input is not valid. ${error.message}`, {
      reason: 'input_not_json',
      errors: [{ path, message: fault }],
    });
  }
}

/** Returns the output as its schema gives it out: a JSON value, so that a replay equals the first answer. */
function outputOf(name: string, operation: Operation, returned: unknown): unknown {
  if (isThenable(returned)) {
    Promise.resolve(returned).catch(() => undefined);
    throw new TypeError(`operation ${name}: run returned a promise; it must be synchronous`);
  }
  const parsed = operation.output.safeParse(returned);
  if (!parsed.success)
    throw new TypeError(`operation ${name}: the output does not fit its schema`, { cause: parsed.error });
  return parsed.data === undefined ? null : assertJson(`operation ${name}, output`, parsed.data);
}
