/** What a vertical's builder writes against: the context of an operation, and the declaration of a vertical. */
import {
  type ActorId,
  type EntityRef,
  type EventId,
  IN_WORDS,
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
import type { Migration, SqlDatabase } from '@freehold/store';
import type { z } from 'zod';
import type { Executor, Schedule, Subscription } from './deliveries/declarations.ts';
import { requireListeners } from './deliveries/lanes.ts';
import type { Proof } from './permissions/permissions.ts';
import { type RetentionPolicy, requireRetention } from './retention/policy.ts';

/** Something that happened, to be remembered for good. */
export interface NewEvent {
  /** What happened, in the past tense: `order.completed`. Lower case, at most 128 characters. */
  readonly type: string;
  /** The record it happened to, of a type that the manifest declares. Its version is the id of the last such event. */
  readonly entity: EntityRef;
  /** The facts, small: at most 65,536 characters of JSON. Personal data only with a `piiClass` and a `subject`. */
  readonly payload?: JsonValue;
  /**
   * How much the payload says about a person. Anything but `none` (the default) is sealed under the subject's key,
   * and is gone everywhere, in every copy, once that key is destroyed.
   */
  readonly piiClass?: 'none' | 'pseudonymous' | 'direct';
  /** The person, by an id that is no personal data itself: `cus_…`. Needed unless `piiClass` is `none`. */
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

/**
 * What an operation's `run` is given (design: kernel, "Operations"). Everything in it is synchronous, and works
 * until `run` has returned: later use is a TypeError, because later is another caller's transaction.
 *
 * Wherever a record is named, its type must be declared in the manifest and its id has 1 to 128 characters
 * (`validation_failed`, reason `entity_id_malformed`). Undeclared permissions and types, malformed event types,
 * values that are no JSON, and writes of a read-only operation are TypeErrors: bugs of the vertical, `internal` to
 * its caller, with a message for whoever reads the incidents.
 */
export interface OperationContext {
  /**
   * The vertical's own tables. Spine tables can be read and never written. Read only in a read-only operation.
   * @throws StatementRefused on SQL that reaches further (see the README of `@freehold/store`).
   */
  readonly sql: SqlDatabase;
  /** Who runs the operation: a person's principal, a service of the manifest, or a connection. */
  readonly principal: ActorId;
  readonly scope: ScopeId;
  /** When the invocation began, in milliseconds since the epoch. */
  readonly now: number;
  /**
   * A fresh id that sorts after every one before it. The prefix is 2 to 16 lower-case letters and digits. A person whom
   * the operation makes under such an id can be sealed for at once, up to as many as `newSubjects` declares.
   */
  newId(prefix: string): string;
  /** Appends an event to the scope's history; it becomes the cause of whatever is invoked after it. */
  emit(event: NewEvent): EventId;
  /**
   * Demands a permission. A refusal rolls the whole invocation back and writes one denial row, even when `run`
   * catches the error.
   * @throws PlatformError `permission_denied`
   */
  check(permission: string, entity?: EntityRef): Proof;
  /** Whether the principal holds a permission. Refuses nothing. */
  can(permission: string, entity?: EntityRef): boolean;
  /**
   * Puts a record into another one of the type that the manifest declares as its parent, or (null) takes it out. A
   * grant on a parent covers what lies in it, at most four levels down: to move a record is to change who reaches it.
   * @throws PlatformError `conflict`, reason `parents_cycle` or `parents_too_deep`.
   */
  setParent(entity: EntityRef, parent: EntityRef | null): void;
  /** The records of a type for which the principal holds a permission: all of them, or these. */
  reach(permission: string, entityType: string): 'all' | readonly string[];
  /**
   * Gives somebody a permission that the caller holds, for at most as long as he holds it himself. Granting twice is
   * granting once: the later request sets the expiry, except that nobody shortens a grant that outlives his own hold.
   * What was given stays when its giver loses the permission later; it is revoked by itself.
   * @throws PlatformError `permission_denied`, and refuses the invocation as {@link OperationContext.check} does;
   * reason `grant_outlives_holder` when it would end later than the caller's own.
   */
  grant(request: GrantRequest): void;
  /**
   * Takes a direct grant back. Nothing happens when there is none.
   * @throws PlatformError `permission_denied` when the caller does not hold the permission, or not for as long as the
   * grant would last (reason `grant_outlives_holder`).
   */
  revoke(request: Omit<GrantRequest, 'expiresAtMs'>): void;
  /**
   * Seals a value for a person, to be kept in a table of the vertical: text that only {@link OperationContext.unseal}
   * opens, in this scope, for as long as the person was not erased. `place` binds it to where it is kept
   * (`customers.name/cus_…`): it opens nowhere else. At most 65,536 characters of JSON. The person is one whom the
   * operation declares by `subjects`, or made by itself under an id of `newId`; here and in `unseal` and `emit`.
   * @throws PlatformError `conflict`, reason `subject_shredded`; TypeError for a person who is neither.
   */
  seal(subject: string, place: string, value: JsonValue): string;
  /** The value, or null when the person was erased. */
  unseal(subject: string, place: string, sealed: string): JsonValue;
  /**
   * Asks the platform for something, as part of this operation: it stands once this commits. The platform's answer
   * is read later, by {@link OperationContext.platformRequests}. The payload is at most 65,536 characters of JSON.
   * @throws PlatformError `rate_limited`, reason `platform_requests_full`, when 1,000 are waiting.
   */
  requestPlatform(kind: string, payload?: JsonValue): string;
  /** What was asked of the platform, newest first, with its answers; at most 200. */
  platformRequests(filter?: {
    readonly kind?: string;
    readonly status?: PlatformRequest['status'];
    readonly limit?: number;
  }): readonly PlatformRequest[];
  /** The settings that were projected into the scope, the secret ones never. */
  readonly settings: Readonly<Record<string, string>>;
  /** What the tenant is entitled to under a key, or null: nothing, or no longer. */
  entitlement(key: string): JsonValue;
  /**
   * Runs another operation of this vertical as the same principal, in the same transaction, caused by the last event,
   * and answers its output. When it fails and `run` catches that, nothing of it stays; a refused permission refuses
   * the whole invocation all the same. At most 16 levels deep.
   * @throws TypeError on an unknown operation and on an input that does not fit: the caller did not write either.
   */
  invoke(operation: string, input: unknown): unknown;
}

/** A vertical's operation: the common declaration with the kernel's context. */
export type Operation<
  I extends z.ZodType = z.ZodType,
  O extends z.ZodType = z.ZodType,
> = OperationDeclaration<OperationContext, I, O>;

/** Gives one declaration its exact types, so that `run` knows its input. Checks nothing: see {@link defineOperations}. */
export function operation<I extends z.ZodType, O extends z.ZodType>(
  declaration: Operation<I, O>,
): Operation<I, O> {
  return declaration;
}

/**
 * Checks a table of operations: names, and that every `run` is synchronous.
 * @throws TypeError that names the operation at fault.
 */
export function defineOperations<T extends OperationTable>(table: T): T {
  requireRunnable(table);
  return table;
}

function requireRunnable(table: OperationTable): void {
  for (const [name, { run }] of Object.entries(table)) {
    if (!OPERATION_NAME.test(name))
      throw new TypeError(`operation ${name}: a name is noun/verb in lower case`);
    if (run.constructor.name === 'AsyncFunction' || run.constructor.name.endsWith('GeneratorFunction')) {
      throw new TypeError(
        `operation ${name}: run must be synchronous; do outside work in a route or an executor`,
      );
    }
  }
}

/** An application for one trade: what it declares, the shape of its data, and what can be done with it. */
export interface Vertical {
  readonly manifest: VerticalManifest;
  /** Applied in order to every scope when it is opened. */
  readonly migrations: readonly Migration[];
  readonly operations: OperationTable;
  /** What happens inside the scope when something has happened, by the subscriber's name. */
  readonly subscriptions?: Readonly<Record<string, Subscription>>;
  /** What happens outside of it, by the executor's name. */
  readonly executors?: Readonly<Record<string, Executor>>;
  /** What happens at its time, by the schedule's name. */
  readonly schedules?: Readonly<Record<string, Schedule>>;
  /**
   * Of how many deliveries a chain may consist, in which each sets off the event of the next; the event at its end is a
   * dead letter at once. Default 16, at most 1,000. A vertical that works through a long list by an event for each
   * part of it needs more.
   */
  readonly chainMax?: number;
  /** How long its scopes keep what happened. Default: for good. */
  readonly retention?: RetentionPolicy;
  /**
   * Removes what the vertical's own tables hold of a person who is erased, in the transaction that redacts the events.
   * What is sealed is unreadable already; this is for what is not, and it does not reach older copies.
   */
  readonly onShred?: (ctx: { readonly sql: SqlDatabase; readonly now: number }, subject: string) => void;
  /**
   * Seals anew what the vertical's own tables hold, in a copy of another scope that becomes this one: for each value that
   * `ctx.seal` made, `reseal` answers the text to keep instead, or null for a person who was erased. It is called twice,
   * the first time to find out whose keys it takes. Needed by a vertical that keeps sealed values of its own; without
   * it, such a value of another scope does not open.
   */
  readonly reseal?: (ctx: {
    readonly sql: SqlDatabase;
    reseal(subject: string, place: string, sealed: string): string | null;
  }) => void;
}

/**
 * Checks a vertical: the manifest, its operations as {@link defineOperations} does, that they name declared
 * permissions, that none writes on GET, and that subscribers and schedules act as services that may do what they do. A vertical that cannot work fails at start, not at its first call.
 * @throws TypeError that names what is wrong.
 */
export function defineVertical(vertical: Vertical): Vertical {
  const manifest = manifestSchema.safeParse(vertical.manifest, IN_WORDS);
  if (!manifest.success) {
    const first = manifest.error.issues[0];
    throw new TypeError(`manifest of ${vertical.manifest.slug}: ${first?.path.join('.')} ${first?.message}`);
  }
  requireRunnable(vertical.operations);
  for (const [name, declared] of Object.entries(vertical.operations)) {
    if (!Object.hasOwn(vertical.manifest.permissions, declared.permission)) {
      throw new TypeError(`operation ${name}: names an undeclared permission: ${declared.permission}`);
    }
    if (declared.http?.method === 'GET' && !isReadOnly(declared)) {
      throw new TypeError(`operation ${name}: a GET must be read only`);
    }
  }
  requireListeners(vertical, vertical.operations, vertical.manifest);
  requireRetention(vertical.retention);
  return vertical;
}
