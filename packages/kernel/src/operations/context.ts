/**
 * The context of an operation's `run`, for one frame of one invocation. It works until `run` has returned: later use,
 * from a timer or a promise, would be in another caller's transaction and is refused.
 */
import {
  type ActorId,
  actorId,
  type EntityRef,
  type EventId,
  type InvocationId,
  LIMIT_MAX,
  PlatformError,
  permissionKey,
  piiClass as piiClassSchema,
  type ScopeId,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import type { Denial } from '../denials/store.ts';
import { type EventRow, type EventStore, eventPlace } from '../events/store.ts';
import { noVault } from '../keys/key-needs.ts';
import { requireSubjectName, type SubjectKeys, valuePlace } from '../keys/subject-keys.ts';
import { assertJson, type RequireEntity } from '../lib/values.ts';
import { endOf, type Permissions, refusalOf } from '../permissions/permissions.ts';
import type { makeRequests } from '../platform-requests/requests.ts';
import type { Settings } from '../settings/settings.ts';
import type { NewEvent, OperationContext, Proof, Vertical } from '../vertical/vertical.ts';

/** The greatest length of an event's payload and of a sealed value, in characters of JSON. */
const PAYLOAD_LENGTH_MAX = 65_536;

/** The number of types of events that memory knows as well formed: a vertical has a few dozen. */
const TYPES_KNOWN_MAX = 1_000;
const wellFormedTypes = new Set<unknown>();

/** The prefix of a vertical's own ids. */
const ID_PREFIX = /^[a-z][a-z0-9]{1,15}$/;

/** The shared state of the calls of one invocation, nested ones included. */
export interface Invocation {
  readonly principal: ActorId;
  readonly nowMs: number;
  /** The number of deliveries that led here: those of the causing event, and its own. 0 without a cause. */
  hops: number;
  /** Whether keys can be had. */
  readonly hasVault: boolean;
  /** The persons whom the operation, or the delivery, declared. Their keys are here. */
  readonly declared: Set<string>;
  /** The ids that were made in this invocation: only these can name persons who cannot have been erased. */
  readonly made: Set<string>;
  /** The number of persons for whom it may still take a key of the pool. */
  newSubjectsLeft: number;
  /** Set by the first refused check, whatever `run` makes of the error. */
  refusal: { readonly denial: Denial; readonly error: PlatformError } | null;
  /** Set by the first use of an undeclared person's data, whatever `run` makes of the error. */
  undeclared: TypeError | null;
  /** The persons whose sealed data this invocation wrote or read: its stored answer may hold some of it. */
  subjects: Set<string> | null;
}

/** One frame of an invocation: the called operation, or one that it invoked. */
export interface Frame {
  readonly invocation: Invocation;
  readonly name: string;
  readonly id: InvocationId;
  readonly cause: EventId | null;
  readonly readOnly: boolean;
  readonly proof: Proof;
  readonly depth: number;
  /** The last event of this frame: the cause of its next nested invocation. */
  lastEvent: EventId | null;
  /** False from the moment `run` has returned or thrown. */
  open: boolean;
}

export interface ContextParts {
  readonly unit: UnitContext;
  readonly vertical: Vertical;
  readonly permissions: Permissions;
  readonly events: EventStore;
  readonly requireEntity: RequireEntity;
  readonly requests: ReturnType<typeof makeRequests>;
  readonly subjectKeys: SubjectKeys;
  readonly settings: Settings;
  /** Called for every event, in its transaction. */
  readonly onEvent: (event: EventRow, nowMs: number) => void;
  /** The vertical's view of the database. */
  readonly sql: SqlDatabase;
  /** The same, for operations that only read. */
  readonly readOnlySql: SqlDatabase;
}

/** Proves a permission, or refuses the invocation. The entity is checked already. */
export function demand(
  { permissions, vertical }: Pick<ContextParts, 'permissions' | 'vertical'>,
  invocation: Invocation,
  operation: string,
  permission: string,
  entity: EntityRef | undefined,
): Proof {
  const { principal, nowMs } = invocation;
  const proof = permissions.prove({ principal, permission, entity, nowMs });
  if (proof) return proof;
  return refuse(
    invocation,
    { actor: principal, permission, entity: entity ?? null, operation },
    refusalOf(vertical, permission),
  );
}

function refuse(invocation: Invocation, denial: Denial, error: PlatformError): never {
  invocation.refusal ??= { denial, error };
  throw invocation.refusal.error;
}

/** Builds the context of one frame. */
export function contextOf(
  parts: ContextParts,
  frame: Frame,
  invokeNested: (name: string, input: unknown) => unknown,
): OperationContext {
  const { invocation, name } = frame;
  const { principal, nowMs } = invocation;
  const requireOpen = (): void => {
    if (!frame.open)
      throw new TypeError(`operation ${name}: its context was used after run had returned; it is closed`);
  };
  const requireWritable = (act: string): void => {
    requireOpen();
    if (frame.readOnly) throw new TypeError(`operation ${name} is read only and tried to ${act}`);
  };
  let proofText: string | undefined;

  return {
    sql: gatedSql(frame.readOnly ? parts.readOnlySql : parts.sql, frame, requireOpen),
    principal,
    scope: parts.unit.key as ScopeId,
    now: nowMs,
    newId: (prefix) => {
      requireOpen();
      if (!ID_PREFIX.test(prefix))
        throw new TypeError(
          `operation ${name}: an id's prefix is 2 to 16 lower-case letters and digits, beginning with a letter`,
        );
      const id = parts.unit.newId(prefix);
      invocation.made.add(id);
      return id;
    },
    emit: (event) => {
      requireWritable('emit an event');
      proofText ??= JSON.stringify(frame.proof);
      return emit(parts, frame, event, proofText);
    },
    ...permissionMembers(parts, frame, { requireOpen, requireWritable }),
    ...sealingMembers(parts, frame, requireOpen),
    requestPlatform: (kind, payload) => {
      requireWritable('ask the platform');
      const cause = frame.lastEvent ?? frame.cause;
      const operation = name;
      return parts.requests.ask({ kind, payload, operation, principal, invocation: frame.id, cause, nowMs });
    },
    platformRequests: ({ limit = LIMIT_MAX, ...filter } = {}) => {
      requireOpen();
      return parts.requests.history({ ...filter, limit: Math.max(1, Math.min(limit, LIMIT_MAX)) }).items;
    },
    get settings() {
      return parts.settings.all();
    },
    entitlement: (key) => {
      requireOpen();
      return parts.settings.entitlement(key, nowMs);
    },
    invoke: (nested, input) => {
      requireOpen();
      return invokeNested(nested, input);
    },
  };
}

function emit(parts: ContextParts, frame: Frame, event: NewEvent, proof: string): EventId {
  const { invocation, name } = frame;
  const { type, entity, payload, piiClass = 'none', subject } = event;
  const where = `operation ${name}, event ${type}`;
  requireEventType(name, type);
  const { type: entityType, id: entityId } = parts.requireEntity(entity, where);
  const plain = payload === undefined ? null : payloadText(where, payload);
  const person = subjectOf(where, { piiClass, subject });
  const id = parts.unit.newId('evt') as EventId;
  const row: EventRow = {
    id,
    type,
    entityType,
    entityId,
    actor: invocation.principal,
    operation: name,
    invocation: frame.id,
    cause: frame.cause,
    hops: invocation.hops,
    piiClass,
    subject: person,
    payload:
      person === null || plain === null
        ? plain
        : forSubject(parts, frame, person, () => parts.subjectKeys.seal(person, eventPlace(id), plain)),
    atMs: invocation.nowMs,
  };
  parts.events.append(row, proof);
  parts.onEvent(row, invocation.nowMs);
  frame.lastEvent = id;
  return id;
}

interface Gate {
  readonly requireOpen: () => void;
  readonly requireWritable: (act: string) => void;
}

function permissionMembers(
  parts: ContextParts,
  { invocation, name }: Frame,
  { requireOpen, requireWritable }: Gate,
): Pick<OperationContext, 'check' | 'can' | 'setParent' | 'reach' | 'grant' | 'revoke'> {
  const { vertical, permissions, requireEntity } = parts;
  const { manifest } = vertical;
  const { principal, nowMs } = invocation;

  const requireDeclared = (permission: string): void => {
    if (!Object.hasOwn(manifest.permissions, permission))
      throw new TypeError(`permission ${permission} is not declared in the manifest of ${manifest.slug}`);
  };
  const entityOf = (entity: EntityRef | undefined): EntityRef | undefined =>
    entity === undefined ? undefined : requireEntity(entity, `operation ${name}`);
  /** Returns the end of the caller's own permission; refuses a caller without it. */
  const requireHeld = (permission: string, entity: EntityRef | undefined): number => {
    requireDeclared(permission);
    demand(parts, invocation, name, permission, entity);
    return permissions.heldUntilMs({ principal, permission, entity, nowMs }) ?? nowMs;
  };
  const refuseBeyond = (untilMs: number, permission: string, entity: EntityRef | undefined): never => {
    const words = manifest.permissions[permission] ?? permission;
    return refuse(
      invocation,
      { actor: principal, permission, entity: entity ?? null, operation: name },
      new PlatformError(
        'permission_denied',
        `You have this yourself only until ${toTimestamp(untilMs)}, and can give or take it no longer than that: ${words}.`,
        { reason: 'grant_outlives_holder' },
      ),
    );
  };

  return {
    check: (permission, entity) => {
      requireOpen();
      requireDeclared(permission);
      return demand(parts, invocation, name, permission, entityOf(entity));
    },
    can: (permission, entity) => {
      requireOpen();
      requireDeclared(permission);
      return permissions.prove({ principal, permission, entity: entityOf(entity), nowMs }) !== null;
    },
    setParent: (entity, parent) => {
      requireWritable('move a record');
      const where = `operation ${name}, setParent`;
      permissions.parents.place(
        requireEntity(entity, where),
        parent === null ? null : requireEntity(parent, where),
      );
    },
    reach: (permission, entityType) => {
      requireOpen();
      requireDeclared(permission);
      if (!Object.hasOwn(manifest.entities, entityType))
        throw new TypeError(`operation ${name}: entity type ${entityType} is not declared in the manifest`);
      return permissions.reach({ principal, permission, entityType, nowMs });
    },
    grant: ({ subject, permission, expiresAtMs = null, ...request }) => {
      requireWritable('grant a permission');
      const entity = entityOf(request.entity);
      requireSubject(subject);
      requireExpiry(name, expiresAtMs);
      const untilMs = requireHeld(permission, entity);
      if (endOf({ expiresAtMs }) > untilMs) refuseBeyond(untilMs, permission, entity);
      const before = permissions.store.grant({ subject, permission, entity }, nowMs);
      // To shorten a grant is to take some of it back, which a caller may not whose own ends earlier.
      if (before && endOf(before) > untilMs) return;
      permissions.store.saveGrant({ subject, permission, entity, expiresAtMs, grantedBy: principal, nowMs });
    },
    revoke: ({ subject, permission, ...request }) => {
      requireWritable('revoke a grant');
      const entity = entityOf(request.entity);
      requireSubject(subject);
      const untilMs = requireHeld(permission, entity);
      const before = permissions.store.grant({ subject, permission, entity }, nowMs);
      if (before && endOf(before) > untilMs) refuseBeyond(untilMs, permission, entity);
      permissions.store.deleteGrant({ subject, permission, entity });
    },
  };
}

function sealingMembers(
  parts: ContextParts,
  frame: Frame,
  requireOpen: () => void,
): Pick<OperationContext, 'seal' | 'unseal'> {
  const { subjectKeys } = parts;
  return {
    seal: (subject, place, value) => {
      requireOpen();
      const where = `operation ${frame.name}, seal`;
      const text = JSON.stringify(assertJson(where, value));
      if (text.length > PAYLOAD_LENGTH_MAX)
        throw new TypeError(`${where}: at most ${PAYLOAD_LENGTH_MAX} characters of JSON`);
      const person = requireSubjectName(where, subject);
      return forSubject(parts, frame, person, () => subjectKeys.seal(person, valuePlace(place), text));
    },
    unseal: (subject, place, sealed) => {
      requireOpen();
      const person = requireSubjectName(`operation ${frame.name}, unseal`, subject);
      const opened = forSubject(parts, frame, person, () =>
        subjectKeys.open(person, valuePlace(place), sealed),
      );
      return 'text' in opened ? JSON.parse(opened.text) : null;
    },
  };
}

/** Works with the key of a person whom the operation declared or made. */
function forSubject<T>({ subjectKeys }: ContextParts, frame: Frame, subject: string, work: () => T): T {
  const { invocation } = frame;
  if (!invocation.declared.has(subject)) {
    if (!invocation.made.has(subject))
      refuseUndeclared(
        frame,
        `seals or opens for a ${typeOf(subject)} whom it does not declare; \`subjects\` answers whose data it touches`,
      );
    if (!subjectKeys.has(subject)) takeKey(subjectKeys, frame, subject);
  }
  invocation.subjects ??= new Set();
  invocation.subjects.add(subject);
  return work();
}

/** Takes a key of the pool for a person whom this invocation made, in its transaction. */
function takeKey(subjectKeys: SubjectKeys, frame: Frame, subject: string): void {
  const type = typeOf(subject);
  if (frame.readOnly) refuseUndeclared(frame, `is read only and seals for a new ${type}`);
  if (frame.invocation.newSubjectsLeft === 0)
    refuseUndeclared(
      frame,
      `seals for more new persons (${type}) than it declares; \`newSubjects\` says how many it makes at most`,
    );
  if (!subjectKeys.takeFor(subject)) throw noVault();
  frame.invocation.newSubjectsLeft -= 1;
}

function refuseUndeclared({ invocation, name }: Frame, words: string): never {
  invocation.undeclared ??= new TypeError(`operation ${name}: ${words}`);
  throw invocation.undeclared;
}

/** Returns the type of a person for messages, which must not hold the id itself. */
function typeOf(subject: string): string {
  const end = subject.indexOf('_');
  return end > 0 ? subject.slice(0, end) : 'subject';
}

/** The vertical's view of the database, for as long as the frame is open. */
function gatedSql(sql: SqlDatabase, frame: Frame, requireOpen: () => void): SqlDatabase {
  return {
    run: (text, ...params) => {
      requireOpen();
      sql.run(text, ...params);
    },
    get: (text, ...params) => {
      requireOpen();
      return sql.get(text, ...params);
    },
    all: (text, ...params) => {
      requireOpen();
      return sql.all(text, ...params);
    },
    exec: (script) => {
      requireOpen();
      sql.exec(script);
    },
    savepoint: (work) => {
      requireOpen();
      const { lastEvent } = frame;
      try {
        return sql.savepoint(work);
      } catch (error) {
        // Events inside are gone, and must not be named as a cause.
        frame.lastEvent = lastEvent;
        throw error;
      }
    },
  };
}

/** Returns the person that an event's payload is sealed for; null for a payload without personal data. */
function subjectOf(
  where: string,
  { piiClass, subject }: { readonly piiClass: string; readonly subject: string | undefined },
): string | null {
  if (piiClass === 'none' && subject === undefined) return null;
  if (!piiClassSchema.safeParse(piiClass).success) throw new TypeError(`${where}: there is no such piiClass`);
  if (subject === undefined) throw new TypeError(`${where}: a payload that is ${piiClass} needs a subject`);
  if (piiClass === 'none') throw new TypeError(`${where}: a subject needs a piiClass`);
  return requireSubjectName(where, subject);
}

/** The form of an event's type is that of a permission key: `order.completed`. */
function requireEventType(operation: string, type: unknown): void {
  if (wellFormedTypes.has(type)) return;
  if (!permissionKey.safeParse(type).success)
    throw new TypeError(
      `operation ${operation}: ${JSON.stringify(type)?.slice(0, 80)} is not an event type; it is noun.verb in lower case, at most 128 characters`,
    );
  if (wellFormedTypes.size >= TYPES_KNOWN_MAX) wellFormedTypes.clear();
  wellFormedTypes.add(type);
}

function payloadText(where: string, payload: unknown): string {
  const text = JSON.stringify(assertJson(`${where}, payload`, payload));
  if (text.length > PAYLOAD_LENGTH_MAX)
    throw new TypeError(
      `${where}: the payload has ${text.length} characters; at most ${PAYLOAD_LENGTH_MAX} are kept`,
    );
  return text;
}

/** Subjects come from callers, so a wrong one is the caller's mistake. */
function requireSubject(subject: unknown): void {
  if (actorId.safeParse(subject).success) return;
  throw new PlatformError('validation_failed', 'This is not the id of an actor of this scope.', {
    reason: 'subject_malformed',
  });
}

/** SQLite stores NaN as NULL, and a grant without an expiry never ends. */
function requireExpiry(operation: string, expiresAtMs: number | null): void {
  if (expiresAtMs === null || (Number.isSafeInteger(expiresAtMs) && expiresAtMs >= 0)) return;
  throw new TypeError(
    `operation ${operation}: a grant's expiry is a whole number of milliseconds since the epoch`,
  );
}
