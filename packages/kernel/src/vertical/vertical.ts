/** The interface of a vertical's builder: the context of an operation, and the declaration of a vertical. */
import {
  type ActorId,
  type AttachmentRecord,
  type EntityRef,
  type EventId,
  type JsonValue,
  manifestSchema,
  type PlatformRequest,
  type ScopeId,
  type VerticalManifest,
} from '@freehold/contracts';
import {
  isReadOnly,
  OPERATION_NAME,
  type OperationDeclaration,
  type OperationTable,
} from '@freehold/operations';
import {
  type DeclarationFault,
  faultsIn,
  type ReportFault,
  SCHEMA_FAULT_CODES,
  schemaFaults,
  throwFirst,
} from '@freehold/operations/faults';
import type { Migration, SqlDatabase } from '@freehold/store';
import type { z } from 'zod';
import {
  checkListeners,
  type Executor,
  LISTENER_FAULT_CODES,
  type Schedule,
  type Subscription,
} from './listeners.ts';
import { checkLongWork, LONG_WORK_FAULT_CODES, type LongWork, type WorkHandle } from './long-work.ts';
import { checkRetention, type RetentionPolicy } from './retention.ts';

/**
 * The reason why an actor was let through: an assigned role, a service with the permission in the manifest, or a grant,
 * for one record (the record itself, or an ancestor) or (`entity` null) for the whole scope, until `expiresAtMs`
 * (milliseconds since the epoch, null: without end).
 */
export type Proof =
  | { readonly by: 'role'; readonly role: string }
  | { readonly by: 'service'; readonly service: string }
  | { readonly by: 'grant'; readonly entity: EntityRef | null; readonly expiresAtMs: number | null };

/** A new event. It is kept for good, unless the scope has a retention. */
export interface NewEvent {
  /** In the past tense: `order.completed`. Lower case, at most 128 characters. */
  readonly type: string;
  /** The record, of a type that the manifest declares. Its version is the id of its last event. */
  readonly entity: EntityRef;
  /** At most 65,536 characters of JSON. Personal data only with a `piiClass` and a `subject`. */
  readonly payload?: JsonValue;
  /**
   * The class of the payload's personal data. Any class but `none` (the default) is sealed under the subject's key:
   * without that key, no copy of it opens any more.
   */
  readonly piiClass?: 'none' | 'pseudonymous' | 'direct';
  /** The person, by an id that is no personal data itself: `cus_…`. Required unless `piiClass` is `none`. */
  readonly subject?: string;
}

/** A permission given to one principal (design: kernel, "Permissions"). */
export interface GrantRequest {
  /** Another shape of id is `validation_failed`, reason `subject_malformed`. */
  readonly subject: ActorId;
  /** A key that the manifest declares. */
  readonly permission: string;
  /** Narrows the grant to one record; without it the grant is for the whole scope. */
  readonly entity?: EntityRef;
  /** Milliseconds since the epoch; without it the grant does not expire. */
  readonly expiresAtMs?: number;
}

/** The beginning of a long work. */
export interface NewWork {
  /** For its first step. Default null. */
  readonly data?: JsonValue;
  /** The end of its progress, in units of its own. Default: not known. */
  readonly total?: number | null;
  /** True: it runs no step until an operation says so. Default false. */
  readonly waits?: boolean;
}

/**
 * The context of an operation's `run` (design: kernel, "Operations"). Its members are synchronous and work until `run`
 * has returned: later use is a TypeError, because it would be in another caller's transaction.
 *
 * The type of a named record must be declared in the manifest, and its id has 1 to 128 characters (`validation_failed`,
 * reason `entity_id_malformed`). Undeclared permissions and types, malformed event types, values that are no JSON, and
 * writes of a read-only operation are TypeErrors: bugs of the vertical, `internal` to its caller, with a message in the
 * incidents.
 */
export interface OperationContext {
  /**
   * The vertical's own tables. Spine tables can be read and never written. Read only in a read-only operation.
   * @throws StatementRefused on SQL that reaches further (see the README of `@freehold/store`).
   */
  readonly sql: SqlDatabase;
  /** The actor: a person's principal, a service of the manifest, or a connection. */
  readonly principal: ActorId;
  readonly scope: ScopeId;
  /** The start of the invocation, in milliseconds since the epoch. */
  readonly now: number;
  /**
   * Returns a fresh id that sorts after all earlier ones. The prefix is 2 to 16 lower-case letters and digits. The
   * operation can seal at once for persons whom it makes under such ids, for as many as `newSubjects` declares.
   */
  newId(prefix: string): string;
  /** Appends an event to the scope's history; it becomes the cause of later nested invocations. */
  emit(event: NewEvent): EventId;
  /**
   * Demands a permission. A refusal rolls the whole invocation back and writes one denial row, even when `run`
   * catches the error.
   * @throws PlatformError `permission_denied`
   */
  check(permission: string, entity?: EntityRef): Proof;
  /** Whether the principal holds a permission. */
  can(permission: string, entity?: EntityRef): boolean;
  /**
   * Puts a record into another one of the type that the manifest declares as its parent, or (null) takes it out. A
   * grant on a parent covers its descendants, at most four levels down: moving a record changes who reaches it.
   * @throws PlatformError `conflict`, reason `parents_cycle` or `parents_too_deep`.
   */
  setParent(entity: EntityRef, parent: EntityRef | null): void;
  /** Returns the records of a type for which the principal holds a permission: all of them, or these. */
  reach(permission: string, entityType: string): 'all' | readonly string[];
  /**
   * Gives a subject a permission that the caller holds, for at most as long as the caller holds it. A later request
   * sets the expiry anew, but never shortens a grant that outlives the caller's own. The grant stays when the caller
   * loses the permission.
   * @throws PlatformError `permission_denied`, and refuses the invocation as {@link OperationContext.check} does;
   * reason `grant_outlives_holder` when it would end later than the caller's own.
   */
  grant(request: GrantRequest): void;
  /**
   * Takes a direct grant back; does nothing when there is none.
   * @throws PlatformError `permission_denied` when the caller does not hold the permission, or not for as long as the
   * grant would last (reason `grant_outlives_holder`).
   */
  revoke(request: Omit<GrantRequest, 'expiresAtMs'>): void;
  /**
   * Seals a value for a person, for a table of the vertical: {@link OperationContext.unseal} opens the text in this
   * scope, until the person is erased. `place` names its column and row (`customers.name/cus_…`): it opens nowhere
   * else. At most 65,536 characters of JSON. Here and in `unseal` and `emit`, the operation declares the person by
   * `subjects`, or has made the person under an id of `newId`.
   * @throws PlatformError `conflict`, reason `subject_shredded`; TypeError for another person.
   */
  seal(subject: string, place: string, value: JsonValue): string;
  /** Returns the value; null when the person was erased. */
  unseal(subject: string, place: string, sealed: string): JsonValue;
  /**
   * Makes a request to the platform as part of this operation: it stands once this commits. A later operation reads the
   * answer by {@link OperationContext.platformRequests}. The payload is at most 65,536 characters of JSON.
   * @throws PlatformError `rate_limited`, reason `platform_requests_full`, when 1,000 are waiting.
   */
  requestPlatform(kind: string, payload?: JsonValue): string;
  /** Returns requests to the platform with their answers, newest first; at most 200. */
  platformRequests(filter?: {
    readonly kind?: string;
    readonly status?: PlatformRequest['status'];
    readonly limit?: number;
  }): readonly PlatformRequest[];
  /**
   * Starts long work of a kind that the vertical declares, with this operation; returns its id. It runs as the caller.
   * @throws PlatformError `conflict`, reason `works_full`, when 20 are under way in the scope.
   */
  startWork(kind: string, work?: NewWork): string;
  /** Returns a long work of any caller. @throws PlatformError `not_found`, reason `unknown_work`. */
  work(id: string): WorkHandle;
  /** Returns the id of a work of a kind that has a mark; null for none. It reads an index. */
  markedWork(kind: string, mark: string): string | null;
  /** The settings that were projected into the scope, without the secret ones. */
  readonly settings: Readonly<Record<string, string>>;
  /** Returns the tenant's entitlement under a key; null for none and for an expired one. */
  entitlement(key: string): JsonValue;
  /**
   * Runs another operation of this vertical as the same principal, in the same transaction, caused by the last event,
   * and returns its output. When it fails and `run` catches the error, its writes are undone; a refused permission
   * refuses the whole invocation all the same. At most 16 levels deep.
   * @throws TypeError on an unknown operation and on an input that does not fit.
   */
  invoke(operation: string, input: unknown): unknown;
}

/** A vertical's operation: the common declaration with the kernel's context. */
export type Operation<
  I extends z.ZodType = z.ZodType,
  O extends z.ZodType = z.ZodType,
> = OperationDeclaration<OperationContext, I, O>;

/** Gives one declaration its exact types, so that `run` knows its input. {@link defineOperations} checks it. */
export function operation<I extends z.ZodType, O extends z.ZodType>(
  declaration: Operation<I, O>,
): Operation<I, O> {
  return declaration;
}

/**
 * Checks a table of operations: names, and that every `run` is synchronous.
 * @throws TypeError that names the operation.
 */
export function defineOperations<T extends OperationTable>(table: T): T {
  throwFirst(faultsIn<VerticalFaultCode>((report) => checkRunnable(table, report)));
  return table;
}

function checkRunnable(table: OperationTable, report: ReportFault<VerticalFaultCode>): void {
  for (const [name, { run }] of Object.entries(table)) {
    const path = ['operations', name];
    if (!OPERATION_NAME.test(name))
      report({ path, code: 'operation_name', message: 'a name is noun/verb in lower case' });
    const { name: kind } = run.constructor;
    if (kind === 'AsyncFunction' || kind.endsWith('GeneratorFunction')) {
      const message = 'must be synchronous; do outside work in a route or an executor';
      report({ path: [...path, 'run'], code: 'operation_async', message });
    }
  }
}

/** An application for one trade: its manifest, its tables, its operations and listeners. */
export interface Vertical {
  readonly manifest: VerticalManifest;
  /** Applied in order to every scope when it is opened. */
  readonly migrations: readonly Migration[];
  readonly operations: OperationTable;
  /** Operations that follow events, by the subscriber's name. */
  readonly subscriptions?: Readonly<Record<string, Subscription>>;
  /** Outside work that follows events, by the executor's name. */
  readonly executors?: Readonly<Record<string, Executor>>;
  /** Operations at set times, by the schedule's name. */
  readonly schedules?: Readonly<Record<string, Schedule>>;
  /** Long work, by the name of the operation that starts it. */
  readonly works?: Readonly<Record<string, LongWork>>;
  /**
   * The greatest number of deliveries in a chain, in which each causes the event of the next; the event at its end is a
   * dead letter at once. Default 16, at most 1,000. A vertical that works through a long list by one event a part needs
   * more.
   */
  readonly chainMax?: number;
  /** The retention of its scopes. Default: everything is kept for good. */
  readonly retention?: RetentionPolicy;
  /**
   * Refuses, by a `PlatformError`, to remove an attachment in the present state of its entity. It is asked after the
   * permission, in the transaction of the removal. Without it every state allows the removal.
   */
  readonly requireRemovable?: (
    ctx: { readonly sql: SqlDatabase; readonly now: number; readonly principal: ActorId },
    attachment: AttachmentRecord,
  ) => void;
  /**
   * Removes an erased person's unsealed data from the vertical's own tables, in the transaction that redacts the
   * events. Sealed data is unreadable already. It does not reach older copies.
   */
  readonly onShred?: (ctx: { readonly sql: SqlDatabase; readonly now: number }, subject: string) => void;
  /**
   * Seals the values in the vertical's own tables anew, in a copy of another scope that becomes this one: for each
   * value of `ctx.seal`, `reseal` returns the new text, or null for an erased person. It is called twice, the first
   * time to find out whose keys it takes. Without it, such a value of another scope does not open.
   */
  readonly reseal?: (ctx: {
    readonly sql: SqlDatabase;
    reseal(subject: string, place: string, sealed: string): string | null;
  }) => void;
}

/**
 * Checks a vertical when it is declared, not at its first call: see {@link findVerticalFaults}.
 * @throws TypeError that names the first fault.
 */
export function defineVertical(vertical: Vertical): Vertical {
  throwFirst(findVerticalFaults(vertical));
  return vertical;
}

/** The codes of {@link findVerticalFaults}. A code keeps its meaning; new ones are added. */
export const VERTICAL_FAULT_CODES = [
  ...SCHEMA_FAULT_CODES,
  ...LISTENER_FAULT_CODES,
  ...LONG_WORK_FAULT_CODES,
  'operation_name',
  'operation_async',
  'get_writes',
] as const;
type VerticalFaultCode = (typeof VERTICAL_FAULT_CODES)[number];

/**
 * Returns the mistakes of a declaration: in the manifest, in its operations as {@link defineOperations} does, that their
 * permissions are declared, that no GET writes, and that the services of subscribers and schedules have the permissions
 * they need. While the manifest has another shape, the rest is not compared with it.
 */
export function findVerticalFaults(vertical: Vertical): readonly DeclarationFault<VerticalFaultCode>[] {
  const { manifest, operations } = vertical;
  const inManifest = schemaFaults(manifestSchema, manifest, ['manifest']);
  const isUsable = inManifest.every(({ code }) => code !== 'missing_field' && code !== 'wrong_type');
  const others = faultsIn<VerticalFaultCode>((report) => {
    checkRunnable(operations, report);
    checkReads(operations, report);
    checkRetention(vertical.retention, report);
    if (!isUsable) return;
    checkPermissions(operations, manifest, report);
    checkListeners(vertical, { operations, manifest, report });
    checkLongWork(vertical.works ?? {}, { operations, manifest, report });
  });
  return [...inManifest, ...others];
}

function checkReads(operations: OperationTable, report: ReportFault<VerticalFaultCode>): void {
  for (const [name, declared] of Object.entries(operations))
    if (declared.http?.method === 'GET' && !isReadOnly(declared)) {
      const path = ['operations', name, 'readOnly'];
      report({
        path,
        code: 'get_writes',
        message: 'is not read-only; what a GET reaches must change nothing',
      });
    }
}

function checkPermissions(
  operations: OperationTable,
  { permissions }: VerticalManifest,
  report: ReportFault<VerticalFaultCode>,
): void {
  for (const [name, { permission }] of Object.entries(operations)) {
    if (Object.hasOwn(permissions, permission)) continue;
    const unknown = { name: permission, known: Object.keys(permissions) };
    const path = ['operations', name, 'permission'];
    report({
      path,
      code: 'unknown_permission',
      message: `names an undeclared permission: ${permission}`,
      unknown,
    });
  }
}
