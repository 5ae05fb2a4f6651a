/**
 * What an operation's `run` is given, for one frame of one invocation. It works until `run` has returned: what a
 * handler keeps of it for later (a timer, a promise) is refused, because later is another caller's transaction.
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
import type { WaitingEvent } from './deliveries/declarations.ts';
import type { Denial } from './denials/store.ts';
import { type EventStore, eventPlace } from './events/store.ts';
import type { RequireEntity } from './lib/entities.ts';
import { assertJson } from './lib/json.ts';
import { refusalReason, refusalWords } from './permissions/check-method.ts';
import { endOf, type Permissions, type Proof } from './permissions/permissions.ts';
import type { makeRequests } from './platform-requests/requests.ts';
import { noVault } from './sealing/key-needs.ts';
import { requireSubjectName, type SubjectKeys, valuePlace } from './sealing/subject-keys.ts';
import type { Settings } from './settings/settings.ts';
import type { OperationContext, Vertical } from './vertical.ts';

/** How long an event's payload may be, in characters of JSON: it is kept for good. */
const PAYLOAD_LENGTH_MAX = 65_536;

/** How many types of events are remembered as well formed: a vertical has a few dozen. */
const TYPES_KNOWN_MAX = 1_000;
const wellFormedTypes = new Set<unknown>();

/** The prefix of a vertical's own ids. */
const ID_PREFIX = /^[a-z][a-z0-9]{1,15}$/;

/** Why an invocation is refused, whatever `run` makes of the error. */
export interface Refusal {
  readonly denial: Denial;
  readonly error: PlatformError;
}

/** What the calls of one invocation share, nested ones included. */
export interface Invocation {
  readonly principal: ActorId;
  readonly nowMs: number;
  /** How many deliveries led to this: those of the event that set it off, and its own. 0 for what nothing set off. */
  hops: number;
  /** Whether keys can be had. */
  readonly hasVault: boolean;
  /** The persons whom the operation, or what delivered it, declared. Their keys are here. */
  readonly declared: Set<string>;
  /** The ids that were made in this invocation: only these can be persons of whom nobody has heard. */
  readonly made: Set<string>;
  /** For how many persons more it may take a key of the pool. */
  newSubjectsLeft: number;
  /** Set by the first refused check. */
  refusal: Refusal | null;
  /** Set by the first use of a person's data that was not declared: it fails, whatever `run` makes of the error. */
  undeclared: TypeError | null;
  /** The persons whose sealed data this invocation wrote or read: its stored answer may hold some of it. */
  subjects: Set<string> | null;
}

/** One frame of an invocation: the operation that was called, or one that it invoked. */
export interface Frame {
  readonly invocation: Invocation;
  readonly name: string;
  readonly id: InvocationId;
  readonly cause: EventId | null;
  readonly readOnly: boolean;
  readonly proof: Proof;
  readonly depth: number;
  /** The last event that this frame emitted: the cause of what it invokes next. */
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
  /** Told of every event, in its transaction. */
  readonly onEvent: (event: WaitingEvent, nowMs: number) => void;
  /** The vertical's view of the database. */
  readonly sql: SqlDatabase;
  /** The same, for operations that only read. */
  readonly readOnlySql: SqlDatabase;
}

export interface ContextFactory {
  /** Proves a permission, or refuses the invocation. The entity is checked already. */
  demand(invocation: Invocation, operation: string, permission: string, entity: EntityRef | undefined): Proof;
  contextOf(frame: Frame, invokeNested: (name: string, input: unknown) => unknown): OperationContext;
}

/** Builds what makes the contexts of a scope's invocations. */
export function makeContextFactory(parts: ContextParts): ContextFactory {
  const { unit, vertical, permissions, events, requireEntity } = parts;
  const { store } = permissions;

  const requireDeclared = (permission: string): void => {
    if (Object.hasOwn(vertical.manifest.permissions, permission)) return;
    throw new TypeError(
      `permission ${permission} is not declared in the manifest of ${vertical.manifest.slug}`,
    );
  };

  const refuse = (invocation: Invocation, denial: Denial, words: string, reason: string): never => {
    invocation.refusal ??= { denial, error: new PlatformError('permission_denied', words, { reason }) };
    throw invocation.refusal.error;
  };

  const demand: ContextFactory['demand'] = (invocation, operation, permission, entity) => {
    const { principal, nowMs } = invocation;
    const proof = permissions.prove({ principal, permission, entity, nowMs });
    if (proof) return proof;
    return refuse(
      invocation,
      { actor: principal, permission, entity: entity ?? null, operation },
      refusalWords(vertical, permission),
      refusalReason(permission),
    );
  };

  const contextOf: ContextFactory['contextOf'] = (frame, invokeNested) => {
    const { invocation, name } = frame;
    const { principal, nowMs } = invocation;
    let proofText: string | undefined;

    const requireOpen = (): void => {
      if (!frame.open)
        throw new TypeError(`operation ${name}: its context was used after run had returned; it is closed`);
    };
    const requireWritable = (what: string): void => {
      requireOpen();
      if (frame.readOnly) throw new TypeError(`operation ${name} is read only and tried to ${what}`);
    };
    const undeclared = (words: string): never => {
      invocation.undeclared ??= new TypeError(`operation ${name}: ${words}`);
      throw invocation.undeclared;
    };
    /** A person of this invocation takes a key of the pool, in its transaction. */
    const takeKey = (subject: string): void => {
      const type = typeOf(subject);
      if (frame.readOnly) undeclared(`is read only and seals for a new ${type}`);
      if (invocation.newSubjectsLeft === 0)
        undeclared(
          `seals for more new persons (${type}) than it declares; \`newSubjects\` says how many it makes at most`,
        );
      if (!parts.subjectKeys.takeFor(subject)) throw noVault();
      invocation.newSubjectsLeft -= 1;
    };
    /** Works with a person's key: one who was declared, or who was made here. */
    const forSubject = <T>(subject: string, work: () => T): T => {
      if (!invocation.declared.has(subject)) {
        if (!invocation.made.has(subject))
          undeclared(
            `seals or opens for a ${typeOf(subject)} whom it does not declare; \`subjects\` answers whose data it touches`,
          );
        if (!parts.subjectKeys.has(subject)) takeKey(subject);
      }
      invocation.subjects ??= new Set();
      invocation.subjects.add(subject);
      return work();
    };
    const entityOf = (entity: EntityRef | undefined): EntityRef | undefined =>
      entity === undefined ? undefined : requireEntity(entity, `operation ${name}`);

    /** Until when the caller holds what he wants to give or take; he is refused when he does not. */
    const requireHeld = (permission: string, entity: EntityRef | undefined): number => {
      requireDeclared(permission);
      demand(invocation, name, permission, entity);
      return permissions.heldUntilMs({ principal, permission, entity, nowMs }) ?? nowMs;
    };
    const refuseBeyond = (untilMs: number, permission: string, entity: EntityRef | undefined): never => {
      const words = vertical.manifest.permissions[permission] ?? permission;
      return refuse(
        invocation,
        { actor: principal, permission, entity: entity ?? null, operation: name },
        `You have this yourself only until ${toTimestamp(untilMs)}, and can give or take it no longer than that: ${words}.`,
        'grant_outlives_holder',
      );
    };

    return {
      sql: gatedSql(frame.readOnly ? parts.readOnlySql : parts.sql, frame, requireOpen),
      principal,
      scope: unit.key as ScopeId,
      now: nowMs,
      newId: (prefix) => {
        requireOpen();
        if (!ID_PREFIX.test(prefix))
          throw new TypeError(
            `operation ${name}: an id's prefix is 2 to 16 lower-case letters and digits, beginning with a letter`,
          );
        const id = unit.newId(prefix);
        invocation.made.add(id);
        return id;
      },
      emit: ({ type, entity, payload, piiClass = 'none', subject }) => {
        requireWritable('emit an event');
        requireEventType(name, type);
        const { type: entityType, id: entityId } = requireEntity(entity, `operation ${name}, event ${type}`);
        const plain = payload === undefined ? null : payloadText(name, type, payload);
        const person = subjectOf(name, type, { piiClass, subject });
        const id = unit.newId('evt') as EventId;
        const text =
          person === null || plain === null
            ? plain
            : forSubject(person, () => parts.subjectKeys.seal(person, eventPlace(id), plain));
        proofText ??= JSON.stringify(frame.proof);
        events.append(
          {
            id,
            type,
            entityType,
            entityId,
            actor: principal,
            operation: name,
            invocation: frame.id,
            cause: frame.cause,
            hops: invocation.hops,
            piiClass,
            subject: person,
            payload: text,
            atMs: nowMs,
          },
          proofText,
        );
        parts.onEvent({ id, type, hops: invocation.hops }, nowMs);
        frame.lastEvent = id;
        return id;
      },
      check: (permission, entity) => {
        requireOpen();
        requireDeclared(permission);
        return demand(invocation, name, permission, entityOf(entity));
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
        if (!Object.hasOwn(vertical.manifest.entities, entityType))
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
        const before = store.grant({ subject, permission, entity }, nowMs);
        // To shorten a grant is to take some of it back, which is not for somebody who holds less.
        if (before && endOf(before) > untilMs) return;
        store.saveGrant({ subject, permission, entity, expiresAtMs, grantedBy: principal, nowMs });
      },
      revoke: ({ subject, permission, ...request }) => {
        requireWritable('revoke a grant');
        const entity = entityOf(request.entity);
        requireSubject(subject);
        const untilMs = requireHeld(permission, entity);
        const before = store.grant({ subject, permission, entity }, nowMs);
        if (before && endOf(before) > untilMs) refuseBeyond(untilMs, permission, entity);
        store.deleteGrant({ subject, permission, entity });
      },
      seal: (subject, place, value) => {
        requireOpen();
        const where = `operation ${name}, seal`;
        const text = JSON.stringify(assertJson(where, value));
        if (text.length > PAYLOAD_LENGTH_MAX)
          throw new TypeError(`${where}: at most ${PAYLOAD_LENGTH_MAX} characters of JSON`);
        const person = requireSubjectName(where, subject);
        return forSubject(person, () => parts.subjectKeys.seal(person, valuePlace(place), text));
      },
      unseal: (subject, place, sealed) => {
        requireOpen();
        const person = requireSubjectName(`operation ${name}, unseal`, subject);
        const opened = forSubject(person, () => parts.subjectKeys.open(person, valuePlace(place), sealed));
        return 'text' in opened ? JSON.parse(opened.text) : null;
      },
      requestPlatform: (kind, payload) => {
        requireWritable('ask the platform');
        const cause = frame.lastEvent ?? frame.cause;
        return parts.requests.ask({
          kind,
          payload,
          operation: name,
          principal,
          invocation: frame.id,
          cause,
          nowMs,
        });
      },
      platformRequests: ({ limit = LIMIT_MAX, ...filter } = {}) => {
        requireOpen();
        return parts.requests.history({ ...filter, limit: Math.max(1, Math.min(limit, LIMIT_MAX)) }).items;
      },
      settings: parts.settings.all(),
      entitlement: (key) => {
        requireOpen();
        return parts.settings.entitlement(key, nowMs);
      },
      invoke: (nested, input) => {
        requireOpen();
        return invokeNested(nested, input);
      },
    };
  };

  return { demand, contextOf };
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
        // What was emitted inside is gone, and must not be named as a cause.
        frame.lastEvent = lastEvent;
        throw error;
      }
    },
  };
}

/** The person that an event's payload is sealed for, or null when it says nothing about anybody. */
function subjectOf(
  operation: string,
  type: string,
  { piiClass, subject }: { readonly piiClass: string; readonly subject: string | undefined },
): string | null {
  if (piiClass === 'none' && subject === undefined) return null;
  const where = `operation ${operation}, event ${type}`;
  if (!piiClassSchema.safeParse(piiClass).success) throw new TypeError(`${where}: there is no such piiClass`);
  if (subject === undefined) {
    throw new TypeError(`${where}: a payload that is ${piiClass} needs a subject`);
  }
  if (piiClass === 'none') throw new TypeError(`${where}: a subject needs a piiClass`);
  return requireSubjectName(where, subject);
}

/** What kind of person a subject is, for messages: an id itself belongs into none. */
function typeOf(subject: string): string {
  const end = subject.indexOf('_');
  return end > 0 ? subject.slice(0, end) : 'subject';
}

/** The form of an event's type is that of a permission key: `order.completed`. */
function requireEventType(operation: string, type: unknown): void {
  if (wellFormedTypes.has(type)) return;
  if (permissionKey.safeParse(type).success) {
    if (wellFormedTypes.size >= TYPES_KNOWN_MAX) wellFormedTypes.clear();
    wellFormedTypes.add(type);
    return;
  }
  throw new TypeError(
    `operation ${operation}: ${JSON.stringify(type)?.slice(0, 80)} is not an event type; it is noun.verb in lower case, at most 128 characters`,
  );
}

function payloadText(operation: string, type: string, payload: unknown): string {
  const where = `operation ${operation}, event ${type}`;
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
  throw new PlatformError('validation_failed', 'This is not the id of anybody here.', {
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
