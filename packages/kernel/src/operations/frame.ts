/** One frame of an invocation: its state, and what every part of its context does with it. */
import type {
  ActorId,
  EntityRef,
  EventId,
  InvocationId,
  PlatformError,
  ProgramGrant,
} from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import type { Denial } from '../denials/store.ts';
import type { EventRow, EventStore } from '../events/store.ts';
import type { SubjectKeys } from '../keys/subject-keys.ts';
import { programColumn } from '../lib/programs.ts';
import type { RequireEntity } from '../lib/values.ts';
import type { makeWorkStore } from '../long-work/store.ts';
import type { Permissions } from '../permissions/permissions.ts';
import type { makeRequests } from '../platform-requests/requests.ts';
import type { Settings } from '../settings/settings.ts';
import type { Proof, Vertical } from '../vertical/vertical.ts';

/** The shared state of the calls of one invocation, nested ones included. */
export interface Invocation {
  readonly principal: ActorId;
  /** The program through which the principal calls. */
  readonly program: ProgramGrant | undefined;
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
  /** The proof as JSON, once an event needed it. */
  proofText: string | null;
  /** False from the moment `run` has returned or thrown. */
  open: boolean;
}

export interface ContextParts {
  readonly unit: UnitContext;
  readonly vertical: Vertical;
  readonly permissions: Permissions;
  readonly events: EventStore;
  readonly requireEntity: RequireEntity;
  /** Throws while rights for the whole scope must not change. */
  readonly requireFree: () => void;
  readonly requests: ReturnType<typeof makeRequests>;
  readonly subjectKeys: SubjectKeys;
  readonly settings: Settings;
  /** Called for every event, in its transaction. */
  readonly onEvent: (event: EventRow, nowMs: number) => void;
  /** Has the scope's own work begin after the commit. */
  readonly wakeAfterCommit: () => void;
  readonly works: ReturnType<typeof makeWorkStore>;
  /** The vertical's view of the database. */
  readonly sql: SqlDatabase;
  /** The same, for operations that only read. */
  readonly readOnlySql: SqlDatabase;
}

export function requireOpen({ open, name }: Frame): void {
  if (!open)
    throw new TypeError(`operation ${name}: its context was used after run had returned; it is closed`);
}

export function requireWritable(frame: Frame, act: string): void {
  requireOpen(frame);
  if (frame.readOnly) throw new TypeError(`operation ${frame.name} is read only and tried to ${act}`);
}

/** Appends a checked event; it becomes the cause of what this frame invokes next. */
export function appendEvent(
  parts: ContextParts,
  frame: Frame,
  given: {
    readonly type: string;
    readonly entity: EntityRef;
    readonly payload: string | null | ((id: EventId) => string | null);
    readonly piiClass?: EventRow['piiClass'];
    readonly subject?: string | null;
  },
): EventId {
  const { invocation, name } = frame;
  const { type, entity, payload, piiClass = 'none', subject = null } = given;
  const id = parts.unit.newId('evt') as EventId;
  const row: EventRow = {
    id,
    type,
    entityType: entity.type,
    entityId: entity.id,
    actor: invocation.principal,
    operation: name,
    invocation: frame.id,
    cause: frame.cause,
    hops: invocation.hops,
    piiClass,
    subject,
    payload: typeof payload === 'function' ? payload(id) : payload,
    program: programColumn(invocation.program),
    atMs: invocation.nowMs,
  };
  frame.proofText ??= JSON.stringify(frame.proof);
  parts.events.append(row, frame.proofText);
  parts.onEvent(row, invocation.nowMs);
  frame.lastEvent = id;
  return id;
}
