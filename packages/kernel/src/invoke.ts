/**
 * One invocation of one operation: input checked, permission proven, repeats answered, precondition met, `run`
 * called, output checked, all of it recorded; or nothing at all and, for a refusal, one denial row.
 *
 * The permission comes first: a replay tells somebody nothing who would be refused now, and neither does a version.
 */
import {
  type ActorId,
  type EntityRef,
  type EventId,
  IN_WORDS,
  type InvocationId,
  type InvokeRequest,
  type InvokeResult,
  PlatformError,
  type SubjectReader,
  validationError,
} from '@freehold/contracts';
import { isReadOnly, type OperationDeclaration } from '@freehold/operations';
import { isThenable, RollbackThen, TransactionLost } from '@freehold/store';
import { type ContextParts, type Frame, type Invocation, makeContextFactory } from './context.ts';
import type { DenialStore } from './denials/store.ts';
import { keyedCall, type makeIdempotency } from './idempotency/idempotency.ts';
import { assertJson, jsonCopy, NotJson } from './lib/json.ts';
import { soundError } from './lib/thrown.ts';
import type { Proof } from './permissions/permissions.ts';
import { isKeysNeeded, type KeySupply, keysNeeded, noVault } from './sealing/key-needs.ts';
import { needsFor, requireSubjectName } from './sealing/subject-keys.ts';
import type { OperationContext, Vertical } from './vertical.ts';

type Operation = OperationDeclaration<OperationContext>;

/** How deep operations may invoke one another. */
const NESTING_MAX = 16;
/** How many persons an operation may make without saying so. */
const NEW_SUBJECTS_DEFAULT = 4;
const NEW_SUBJECTS_MAX = 10_000;

export interface InvokeParts extends ContextParts {
  readonly denials: DenialStore;
  readonly idempotency: ReturnType<typeof makeIdempotency>;
  /** Called after each operation that was performed for a caller: neither for a replay nor for a nested one. */
  readonly onPerformed: () => void;
}

/** `cause` is the event that set the call off, when it was not a person. */
export type InvokeInput = InvokeRequest & {
  readonly principal: ActorId;
  readonly cause?: EventId;
  /** What a host that has a vault brings. Without it no key can be had, and nobody is made who needs one. */
  readonly keys?: KeySupply;
};

/** One operation that is about to run: found, its input parsed, its permission proven. */
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

/** What the scope itself knows of a call beyond what its caller says. */
export interface InvokeOptions {
  /** Persons whom the delivery declares beside those of the operation. */
  readonly declared?: readonly string[];
  /** How long the chain is that set off the call's cause, where that was just read. */
  readonly causeHops?: number;
}

export type Invoke = (input: InvokeInput, options?: InvokeOptions) => InvokeResult;

/** Builds the scope's `invoke`. */
export function makeInvoke(parts: InvokeParts): Invoke {
  const { unit, vertical, events, denials, idempotency, requireEntity, onPerformed, subjectKeys } = parts;
  const { demand, contextOf } = makeContextFactory(parts);
  const operations = new Map<string, Operation>(Object.entries(vertical.operations));
  const isSealing = sealsAnything(vertical);
  const reader: SubjectReader = {
    get: (sql, ...params) => parts.readOnlySql.get(sql, ...params),
    all: (sql, ...params) => parts.readOnlySql.all(sql, ...params),
  };

  /**
   * The look before a handler: whose data it touches, and how many persons it makes. A host whose scope lacks a key
   * fetches it and has the look made again.
   * @throws PlatformError `unavailable`, reason `subject_keys_needed`. The handler has not run.
   */
  const look = (invocation: Invocation, { name, operation, input }: Looked): void => {
    const subjects = operation.subjects
      ? attempt(name, (value) => operation.subjects?.(value, reader) ?? [], input)
      : [];
    for (const each of subjects)
      invocation.declared.add(requireSubjectName(`operation ${name}, subjects()`, each));
    invocation.newSubjectsLeft = isReadOnly(operation) ? 0 : newSubjectsOf(name, operation, input);
    const isMaking = invocation.hasVault && (operation.newSubjects !== undefined || isSealing);
    const needs = needsFor(subjectKeys, invocation.declared, isMaking ? invocation.newSubjectsLeft : 0);
    if (needs) throw keysNeeded(needs);
  };

  const entityOf = (name: string, operation: Operation, input: unknown): EntityRef | undefined =>
    operation.entity === undefined
      ? undefined
      : requireEntity(attempt(name, operation.entity, input), `operation ${name}, entity()`);

  const requireVersion = (entity: EntityRef | undefined, ifMatch: string): void => {
    if (!entity) {
      throw new PlatformError(
        'validation_failed',
        'This operation has no version that If-Match could name.',
        { reason: 'no_version' },
      );
    }
    const version = events.version(entity);
    if (version !== null && (ifMatch === '*' || ifMatch === version)) return;
    throw new PlatformError(
      'precondition_failed',
      'Somebody else changed this in the meantime. Load it again and repeat your change.',
    );
  };

  const runFrame = (invocation: Invocation, call: Call): { output: unknown; id: InvocationId } => {
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
      open: true,
    };
    let output: unknown;
    try {
      const context = contextOf(frame, (nested, nestedInput) => invokeNested(frame, nested, nestedInput));
      output = outputOf(name, operation, operation.run(context, input));
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
        startedAtMs: invocation.nowMs,
        durationMs: Math.max(0, unit.now() - invocation.nowMs),
      });
    }
    return { output, id: frame.id };
  };

  /**
   * An operation that another one invoked. It has a savepoint of its own: when `run` catches its failure and goes
   * on, nothing of it stays, events of an invocation that was never recorded least of all.
   */
  const invokeNested = (frame: Frame, name: string, given: unknown): unknown => {
    const { invocation } = frame;
    const where = `operation ${frame.name} invoked ${name}`;
    if (frame.depth >= NESTING_MAX) throw new TypeError(`${where} more than ${NESTING_MAX} levels deep`);
    const operation = operations.get(name);
    if (!operation) throw new TypeError(`${where}, and there is no such operation`);
    if (frame.readOnly && !isReadOnly(operation))
      throw new TypeError(`${where}, which writes, and is read only itself`);
    // The caller of the outer operation did not write this input: that it does not fit is the vertical's bug.
    const parsed = attempt(
      name,
      (value) => operation.input.safeParse(value, IN_WORDS),
      given === undefined ? undefined : assertJson(`${where}, input`, given),
    );
    if (!parsed.success)
      throw new TypeError(
        `${where} with an input that does not fit: ${validationError('It', parsed.error).message}`,
      );
    const work = (): unknown =>
      runFrame(invocation, {
        name,
        operation,
        input: parsed.data,
        proof: demand(invocation, name, operation.permission, entityOf(name, operation, parsed.data)),
        parent: frame.id,
        cause: frame.lastEvent ?? frame.cause,
        depth: frame.depth + 1,
        idempotencyKey: null,
      }).output;
    return isReadOnly(operation) ? work() : unit.db.savepoint(work);
  };

  const perform = (request: InvokeInput, invocation: Invocation, causeHops?: number): InvokeResult => {
    const { operation: name, principal, idempotencyKey, ifMatch, cause = null } = request;
    const operation = operations.get(name);
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
    const input = parsed.data;

    const entity = entityOf(name, operation, input);
    const proof = demand(invocation, name, operation.permission, entity);
    const readOnly = isReadOnly(operation);
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
    if (ifMatch !== undefined && !readOnly) requireVersion(entity, ifMatch);
    look(invocation, { name, operation, input });

    const { output, id } = runFrame(invocation, {
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
      version: entity ? events.version(entity) : null,
      replayed: false,
    };
    if (keyed) idempotency.store(keyed, result, [...(invocation.subjects ?? [])].sort());
    onPerformed();
    return result;
  };

  return (request, { declared = [], causeHops } = {}) => {
    const invocation: Invocation = {
      principal: request.principal,
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
      return perform(request, invocation, causeHops);
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

/** An operation that is looked at before it runs. */
type Looked = Pick<Call, 'name' | 'operation' | 'input'>;

/**
 * Whether a vertical keeps anything sealed, by what it declares. Scopes of one that does not are spared the pool: an
 * operation of theirs that makes persons says so by itself.
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

/** Calls a function of the vertical; whatever it throws is made safe to handle. */
function attempt<I, O>(operation: string, work: (input: I) => O, input: I): O {
  try {
    return work(input);
  } catch (error) {
    throw soundError(operation, error);
  }
}

/** A copy of what was sent. @throws PlatformError `validation_failed` when it is no JSON value. */
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

/** The answer of `run` as its schema gives it out: a JSON value, so that a replay is what the first caller got. */
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
