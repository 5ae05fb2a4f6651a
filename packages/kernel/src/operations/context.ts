/**
 * The context of an operation's `run`, for one frame of one invocation. It works until `run` has returned: later use,
 * from a timer or a promise, would be in another caller's transaction and is refused.
 */
import {
  type EntityRef,
  type EventId,
  type JsonValue,
  LIMIT_MAX,
  PlatformError,
  piiClass as piiClassSchema,
  type ScopeId,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { Denial } from '../denials/store.ts';
import { eventPlace } from '../events/store.ts';
import { noVault } from '../keys/key-needs.ts';
import { requireSubjectName, type SubjectKeys, valuePlace } from '../keys/subject-keys.ts';
import { payloadText, requireActor, requireEventType, requireExpiry } from '../lib/values.ts';
import { endOf, refusalOf } from '../permissions/permissions.ts';
import type { GrantRequest, NewEvent, OperationContext, Proof } from '../vertical/vertical.ts';
import {
  appendEvent,
  type ContextParts,
  type Frame,
  type Invocation,
  requireOpen,
  requireWritable,
} from './frame.ts';
import { startWork, workOf } from './work-handles.ts';

/** The prefix of a vertical's own ids. */
const ID_PREFIX = /^[a-z][a-z0-9]{1,15}$/;

/** A demand of an operation. */
export interface Demanded {
  readonly operation: string;
  readonly permission: string;
  /** Checked already. */
  readonly entity: EntityRef | undefined;
  /** Whether the operation writes. Default false: the check is for the permission alone. */
  readonly writes?: boolean;
}

/** Proves a permission, or refuses the invocation. */
export function demand(
  { permissions, vertical }: Pick<ContextParts, 'permissions' | 'vertical'>,
  invocation: Invocation,
  { operation, permission, entity, writes = false }: Demanded,
): Proof {
  const { principal, program, nowMs } = invocation;
  const proof = permissions.prove({ principal, permission, entity, program, writes, nowMs });
  if (proof) return proof;
  return refuse(
    invocation,
    { actor: principal, permission, entity: entity ?? null, operation, program },
    refusalOf(vertical, { program, permission, writes }),
  );
}

function refuse(invocation: Invocation, denial: Denial, error: PlatformError): never {
  invocation.refusal ??= { denial, error };
  throw invocation.refusal.error;
}

/** Builds the context of one frame: one literal of short members, because every call makes one. */
export function contextOf(
  parts: ContextParts,
  frame: Frame,
  invokeNested: (name: string, input: unknown) => unknown,
): OperationContext {
  const { invocation } = frame;
  const { settings } = parts;
  const open = (): void => requireOpen(frame);
  return {
    sql: gatedSql(frame.readOnly ? parts.readOnlySql : parts.sql, frame, open),
    principal: invocation.principal,
    scope: parts.unit.key as ScopeId,
    now: invocation.nowMs,
    settings: (settings.known ?? settings.load()).settings,
    newId: (prefix) => newId(parts, frame, prefix),
    emit: (event) => emit(parts, frame, event),
    check: (permission, entity) => check(parts, frame, permission, entity),
    can: (permission, entity) => can(parts, frame, permission, entity),
    setParent: (entity, parent) => setParent(parts, frame, entity, parent),
    reach: (permission, entityType) => reach(parts, frame, permission, entityType),
    grant: (request) => grant(parts, frame, request),
    revoke: (request) => revoke(parts, frame, request),
    seal: (subject, place, value) => seal(parts, frame, subject, place, value),
    unseal: (subject, place, sealed) => unseal(parts, frame, subject, place, sealed),
    startWork: (kind, work) => startWork(parts, frame, kind, work),
    work: (id) => workOf(parts, frame, id),
    markedWork: (kind, mark) => {
      open();
      return parts.works.marked(kind, mark);
    },
    requestPlatform: (kind, payload) => requestPlatform(parts, frame, kind, payload),
    platformRequests: ({ limit = LIMIT_MAX, ...filter } = {}) => {
      open();
      return parts.requests.history({ ...filter, limit: Math.max(1, Math.min(limit, LIMIT_MAX)) }).items;
    },
    entitlement: (key) => {
      open();
      return settings.entitlement(key, invocation.nowMs);
    },
    invoke: (nested, input) => {
      open();
      return invokeNested(nested, input);
    },
  };
}

function newId({ unit }: ContextParts, frame: Frame, prefix: string): string {
  requireOpen(frame);
  if (!ID_PREFIX.test(prefix))
    throw new TypeError(
      `operation ${frame.name}: an id's prefix is 2 to 16 lower-case letters and digits, beginning with a letter`,
    );
  const id = unit.newId(prefix);
  frame.invocation.made.add(id);
  return id;
}

function emit(parts: ContextParts, frame: Frame, event: NewEvent): EventId {
  requireWritable(frame, 'emit an event');
  const { name } = frame;
  const { type, entity, payload, piiClass = 'none', subject } = event;
  requireEventType(name, type);
  const where = `operation ${name}, event ${type}`;
  const { type: entityType, id: entityId } = parts.requireEntity(entity, where);
  const plain = payload === undefined ? null : payloadText(`${where}, payload`, payload);
  const person = subjectOf(where, { piiClass, subject });
  return appendEvent(parts, frame, {
    type,
    entity: { type: entityType, id: entityId },
    piiClass,
    subject: person,
    payload: (id) =>
      person === null || plain === null
        ? plain
        : forSubject(parts, frame, person, () => parts.subjectKeys.seal(person, eventPlace(id), plain)),
  });
}

function requestPlatform(parts: ContextParts, frame: Frame, kind: string, payload: unknown): string {
  requireWritable(frame, 'ask the platform');
  const { invocation, name } = frame;
  return parts.requests.ask({
    kind,
    payload,
    operation: name,
    principal: invocation.principal,
    invocation: frame.id,
    cause: frame.lastEvent ?? frame.cause,
    nowMs: invocation.nowMs,
  });
}

function requireDeclared({ vertical: { manifest } }: ContextParts, permission: string): void {
  if (!Object.hasOwn(manifest.permissions, permission))
    throw new TypeError(`permission ${permission} is not declared in the manifest of ${manifest.slug}`);
}

function entityOf(
  parts: ContextParts,
  { name }: Frame,
  entity: EntityRef | undefined,
): EntityRef | undefined {
  return entity === undefined ? undefined : parts.requireEntity(entity, `operation ${name}`);
}

function check(parts: ContextParts, frame: Frame, permission: string, entity: EntityRef | undefined): Proof {
  requireOpen(frame);
  requireDeclared(parts, permission);
  return demand(parts, frame.invocation, {
    operation: frame.name,
    permission,
    entity: entityOf(parts, frame, entity),
  });
}

function can(parts: ContextParts, frame: Frame, permission: string, named: EntityRef | undefined): boolean {
  requireOpen(frame);
  requireDeclared(parts, permission);
  const { principal, program, nowMs } = frame.invocation;
  const entity = entityOf(parts, frame, named);
  return parts.permissions.prove({ principal, permission, entity, program, nowMs }) !== null;
}

function setParent(parts: ContextParts, frame: Frame, entity: EntityRef, parent: EntityRef | null): void {
  requireWritable(frame, 'move a record');
  const where = `operation ${frame.name}, setParent`;
  parts.permissions.parents.place(
    parts.requireEntity(entity, where),
    parent === null ? null : parts.requireEntity(parent, where),
  );
}

function reach(
  parts: ContextParts,
  frame: Frame,
  permission: string,
  entityType: string,
): 'all' | readonly string[] {
  requireOpen(frame);
  requireDeclared(parts, permission);
  if (!Object.hasOwn(parts.vertical.manifest.entities, entityType))
    throw new TypeError(`operation ${frame.name}: entity type ${entityType} is not declared in the manifest`);
  const { principal, program, nowMs } = frame.invocation;
  return parts.permissions.reach({ principal, permission, entityType, program, nowMs });
}

function grant(parts: ContextParts, frame: Frame, request: GrantRequest): void {
  requireWritable(frame, 'grant a permission');
  const { subject, permission, expiresAtMs = null } = request;
  const { store } = parts.permissions;
  const { principal, nowMs } = frame.invocation;
  const entity = entityOf(parts, frame, request.entity);
  requireActor(subject);
  requireExpiry(frame.name, expiresAtMs);
  if (!entity) parts.requireFree();
  const untilMs = requireHeld(parts, frame, permission, entity);
  if (endOf({ expiresAtMs }) > untilMs) refuseBeyond(parts, frame, untilMs, permission, entity);
  const before = store.grant({ subject, permission, entity }, nowMs);
  // To shorten a grant is to take some of it back, which a caller may not whose own ends earlier.
  if (before && endOf(before) > untilMs) return;
  store.saveGrant({ subject, permission, entity, expiresAtMs, grantedBy: principal, nowMs });
}

function revoke(parts: ContextParts, frame: Frame, request: Omit<GrantRequest, 'expiresAtMs'>): void {
  requireWritable(frame, 'revoke a grant');
  const { subject, permission } = request;
  const { store } = parts.permissions;
  const entity = entityOf(parts, frame, request.entity);
  requireActor(subject);
  if (!entity) parts.requireFree();
  const untilMs = requireHeld(parts, frame, permission, entity);
  const before = store.grant({ subject, permission, entity }, frame.invocation.nowMs);
  if (before && endOf(before) > untilMs) refuseBeyond(parts, frame, untilMs, permission, entity);
  store.deleteGrant({ subject, permission, entity });
}

/** Returns the end of the caller's own permission; refuses a caller without it. */
function requireHeld(
  parts: ContextParts,
  { invocation, name }: Frame,
  permission: string,
  entity: EntityRef | undefined,
): number {
  requireDeclared(parts, permission);
  demand(parts, invocation, { operation: name, permission, entity, writes: true });
  const { principal, program, nowMs } = invocation;
  return parts.permissions.heldUntilMs({ principal, permission, entity, program, nowMs }) ?? nowMs;
}

function refuseBeyond(
  { vertical }: ContextParts,
  { invocation, name }: Frame,
  untilMs: number,
  permission: string,
  entity: EntityRef | undefined,
): never {
  const words = vertical.manifest.permissions[permission] ?? permission;
  return refuse(
    invocation,
    {
      actor: invocation.principal,
      permission,
      entity: entity ?? null,
      operation: name,
      program: invocation.program,
    },
    new PlatformError(
      'permission_denied',
      `You have this yourself only until ${toTimestamp(untilMs)}, and can give or take it no longer than that: ${words}.`,
      { reason: 'grant_outlives_holder' },
    ),
  );
}

function seal(parts: ContextParts, frame: Frame, subject: string, place: string, value: JsonValue): string {
  requireOpen(frame);
  const where = `operation ${frame.name}, seal`;
  const text = payloadText(where, value);
  const person = requireSubjectName(where, subject);
  return forSubject(parts, frame, person, () => parts.subjectKeys.seal(person, valuePlace(place), text));
}

function unseal(
  parts: ContextParts,
  frame: Frame,
  subject: string,
  place: string,
  sealed: string,
): JsonValue {
  requireOpen(frame);
  const person = requireSubjectName(`operation ${frame.name}, unseal`, subject);
  const opened = forSubject(parts, frame, person, () =>
    parts.subjectKeys.open(person, valuePlace(place), sealed),
  );
  return 'text' in opened ? JSON.parse(opened.text) : null;
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
