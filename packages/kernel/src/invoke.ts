/**
 * One invocation of one operation: input checked, repeats answered, permission proven, precondition met, `run`
 * called, output checked, all of it recorded; or nothing at all and, for a refusal, one denial row.
 */
import {
  type EntityRef,
  type EventId,
  type InvocationId,
  type InvokeRequest,
  type InvokeResult,
  isReadOnly,
  type OperationDeclaration,
  PlatformError,
  type PrincipalId,
  parseInput,
  type ScopeId,
} from '@freehold/contracts';
import { isThenable, RollbackThen, type SqlDatabase, type UnitContext } from '@freehold/store';
import type { Denial, makeDenialStore } from './denials/store.ts';
import type { makeEventStore } from './events/store.ts';
import type { makeIdempotency } from './idempotency/idempotency.ts';
import type { Permissions, Proof } from './permissions/permissions.ts';
import type { OperationContext, Vertical } from './vertical.ts';

/** How deep operations may invoke one another. */
const NESTING_MAX = 16;

export interface InvokeParts {
  readonly unit: UnitContext;
  readonly vertical: Vertical;
  readonly permissions: Permissions;
  readonly events: ReturnType<typeof makeEventStore>;
  readonly denials: ReturnType<typeof makeDenialStore>;
  readonly idempotency: ReturnType<typeof makeIdempotency>;
  /** The vertical's view of the database. */
  readonly sql: SqlDatabase;
  /** The same, for operations that only read. */
  readonly readOnlySql: SqlDatabase;
}

export type InvokeInput = InvokeRequest & { readonly principal: PrincipalId; readonly cause?: EventId };

/** What the calls of one invocation share, nested ones included. */
interface Invocation {
  readonly principal: PrincipalId;
  readonly nowMs: number;
  /** Set by the first refused check: the invocation is refused whatever `run` makes of the error. */
  denial: Denial | null;
}

/** One frame of an invocation: the operation that was called, or one that it invoked. */
interface Frame {
  readonly invocation: Invocation;
  readonly name: string;
  readonly operation: OperationDeclaration<OperationContext>;
  readonly id: InvocationId;
  readonly parent: InvocationId | null;
  readonly cause: EventId | null;
  readonly readOnly: boolean;
  readonly proof: Proof;
  readonly depth: number;
  lastEvent: EventId | null;
}

/** Builds the scope's `invoke`. */
export function makeInvoke(parts: InvokeParts): (input: InvokeInput) => InvokeResult {
  const { unit, vertical, permissions, events, denials, idempotency } = parts;
  const operations = new Map(Object.entries(vertical.operations));

  const findOperation = (name: string): OperationDeclaration<OperationContext> => {
    const found = operations.get(name);
    if (!found)
      throw new PlatformError('not_found', 'There is no such operation.', { reason: 'unknown_operation' });
    return found;
  };

  const requireDeclared = (permission: string): void => {
    if (!Object.hasOwn(vertical.manifest.permissions, permission)) {
      throw new TypeError(
        `permission ${permission} is not declared in the manifest of ${vertical.manifest.slug}`,
      );
    }
  };

  const prove = (invocation: Invocation, permission: string, entity: EntityRef | undefined): Proof | null =>
    permissions.prove({ principal: invocation.principal, permission, entity, nowMs: invocation.nowMs });

  /** Demands a permission for a frame (or for the operation that is about to become one). */
  const demand = (
    invocation: Invocation,
    operation: string,
    permission: string,
    entity: EntityRef | undefined,
  ): Proof => {
    const proof = prove(invocation, permission, entity);
    if (proof) return proof;
    invocation.denial ??= { actor: invocation.principal, permission, entity: entity ?? null, operation };
    throw denialError(vertical, invocation.denial);
  };

  const contextOf = (frame: Frame): OperationContext => {
    const { invocation } = frame;
    const { principal, nowMs } = invocation;

    const requireWritable = (what: string): void => {
      if (frame.readOnly) throw new TypeError(`operation ${frame.name} is read only and tried to ${what}`);
    };

    /** A grant is delegated by its giver: nobody gives what he does not hold. */
    const requireHeld = (permission: string, entity: EntityRef | undefined): void => {
      requireDeclared(permission);
      demand(invocation, frame.name, permission, entity);
    };

    return {
      sql: frame.readOnly ? parts.readOnlySql : parts.sql,
      principal,
      scope: unit.key as ScopeId,
      now: nowMs,
      newId: unit.newId,
      emit: ({ type, entity, payload }) => {
        requireWritable('emit an event');
        const id = unit.newId('evt') as EventId;
        events.append(
          {
            id,
            type,
            entityType: entity.type,
            entityId: entity.id,
            actor: principal,
            operation: frame.name,
            invocation: frame.id,
            cause: frame.cause,
            payload: payload === undefined ? null : JSON.stringify(payload),
            atMs: nowMs,
          },
          frame.proof,
        );
        frame.lastEvent = id;
        return id;
      },
      check: (permission, entity) => {
        requireDeclared(permission);
        return demand(invocation, frame.name, permission, entity);
      },
      can: (permission, entity) => {
        requireDeclared(permission);
        return prove(invocation, permission, entity) !== null;
      },
      reach: (permission, entityType) => {
        requireDeclared(permission);
        return permissions.reach({ principal, permission, entityType, nowMs });
      },
      grant: ({ subject, permission, entity, expiresAtMs }) => {
        requireWritable('grant a permission');
        requireHeld(permission, entity);
        permissions.store.saveGrant({
          subject,
          permission,
          entity,
          expiresAtMs,
          grantedBy: principal,
          nowMs,
        });
      },
      revoke: ({ subject, permission, entity }) => {
        requireWritable('revoke a grant');
        requireHeld(permission, entity);
        permissions.store.deleteGrant({ subject, permission, entity });
      },
      invoke: (name, input) => {
        if (frame.depth >= NESTING_MAX)
          throw new TypeError(`operation ${name}: invoked more than ${NESTING_MAX} levels deep`);
        const operation = findOperation(name);
        if (!isReadOnly(operation)) requireWritable(`invoke ${name}`);
        const parsed = parseInput('The input', operation.input, input);
        return runFrame(invocation, {
          name,
          operation,
          input: parsed,
          parent: frame.id,
          cause: frame.lastEvent ?? frame.cause,
          depth: frame.depth + 1,
        }).output;
      },
    };
  };

  const runFrame = (
    invocation: Invocation,
    call: {
      readonly name: string;
      readonly operation: OperationDeclaration<OperationContext>;
      readonly input: unknown;
      readonly parent: InvocationId | null;
      readonly cause: EventId | null;
      readonly depth: number;
      readonly idempotencyKey?: string | undefined;
    },
  ): { output: unknown; id: InvocationId } => {
    const { name, operation, input } = call;
    const frame: Frame = {
      invocation,
      name,
      operation,
      id: unit.newId('inv') as InvocationId,
      parent: call.parent,
      cause: call.cause,
      readOnly: isReadOnly(operation),
      proof: demand(invocation, name, operation.permission, operation.entity?.(input)),
      depth: call.depth,
      lastEvent: null,
    };
    const returned = operation.run(contextOf(frame), input);
    if (isThenable(returned)) {
      Promise.resolve(returned).catch(() => undefined);
      throw new TypeError(`operation ${name}: run returned a promise; it must be synchronous`);
    }
    if (invocation.denial) throw denialError(vertical, invocation.denial);
    const output = operation.output.safeParse(returned);
    if (!output.success)
      throw new TypeError(`operation ${name}: the output does not fit its schema`, { cause: output.error });
    if (!frame.readOnly) {
      events.saveInvocation({
        id: frame.id,
        operation: name,
        principal: invocation.principal,
        parent: call.parent,
        cause: call.cause,
        idempotencyKey: call.idempotencyKey ?? null,
        startedAtMs: invocation.nowMs,
        durationMs: Math.max(0, unit.now() - invocation.nowMs),
      });
    }
    return { output: output.data, id: frame.id };
  };

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

  const perform = (request: InvokeInput, invocation: Invocation): InvokeResult => {
    const { operation: name, principal, idempotencyKey, ifMatch } = request;
    const operation = findOperation(name);
    const input = parseInput('The input', operation.input, request.input);
    const readOnly = isReadOnly(operation);
    const keyed =
      readOnly || idempotencyKey === undefined
        ? null
        : { principal, operation: name, key: idempotencyKey, input, nowMs: invocation.nowMs };
    const stored = keyed && idempotency.recall(keyed);
    if (stored) return stored;

    const entity = operation.entity?.(input);
    // Whether a record exists is nobody's business who may not touch it, so the permission comes before the version.
    if (ifMatch !== undefined && !readOnly) {
      demand(invocation, name, operation.permission, entity);
      requireVersion(entity, ifMatch);
    }
    const { output, id } = runFrame(invocation, {
      name,
      operation,
      input,
      parent: null,
      cause: request.cause ?? null,
      depth: 0,
      idempotencyKey,
    });
    const result: InvokeResult = {
      output,
      invocation: readOnly ? null : id,
      version: entity ? events.version(entity) : null,
      replayed: false,
    };
    if (keyed) idempotency.store(keyed, result);
    return result;
  };

  return (request) => {
    const invocation: Invocation = { principal: request.principal, nowMs: unit.now(), denial: null };
    try {
      return perform(request, invocation);
    } catch (error) {
      const { denial } = invocation;
      if (!denial) throw error;
      throw new RollbackThen(denialError(vertical, denial), () =>
        denials.save(unit.newId('dnl'), denial, invocation.nowMs),
      );
    }
  };
}

/** Says in the vertical's own words what was not allowed. */
function denialError(vertical: Vertical, denial: Denial): PlatformError {
  const words = vertical.manifest.permissions[denial.permission] ?? denial.permission;
  return new PlatformError(
    'permission_denied',
    `Your role does not allow this: ${words}. Ask the owner if you need it.`,
    {
      reason: denial.permission.replaceAll('.', '_'),
    },
  );
}
