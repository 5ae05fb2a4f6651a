/** Events of what happens outside of any operation: a file is attached, long work ends. Each is an invocation of its own. */
import type { ActorId, EntityRef, EventId, InvocationId, JsonValue } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { EventRow, EventStore } from './store.ts';

export interface OutsideParts {
  readonly unit: UnitContext;
  readonly events: EventStore;
  readonly onEvent: (event: EventRow, nowMs: number) => void;
}

/** An event without personal data. */
export interface OutsideEvent {
  readonly type: string;
  readonly entity: EntityRef;
  readonly operation: string;
  readonly actor: ActorId;
  /** JSON: the program through which the actor did it. */
  readonly program: string | null;
  readonly payload: JsonValue;
  /** JSON. */
  readonly proof: string;
  readonly cause?: { readonly event: EventId; readonly hops: number };
}

/** Appends an event with its invocation. */
export function recordOutside({ unit, events, onEvent }: OutsideParts, given: OutsideEvent): void {
  const { type, entity, operation, actor, program, cause } = given;
  const nowMs = unit.now();
  const [id, invocation] = [unit.newId('evt') as EventId, unit.newId('inv') as InvocationId];
  const event: EventRow = {
    id,
    type,
    entityType: entity.type,
    entityId: entity.id,
    actor,
    operation,
    invocation,
    cause: cause?.event ?? null,
    hops: cause?.hops ?? 0,
    piiClass: 'none',
    subject: null,
    payload: JSON.stringify(given.payload),
    program,
    atMs: nowMs,
  };
  events.append(event, given.proof);
  events.saveInvocation({
    id: invocation,
    operation,
    principal: actor,
    parent: null,
    cause: event.cause,
    idempotencyKey: null,
    program,
    startedAtMs: nowMs,
    durationMs: 0,
  });
  onEvent(event, nowMs);
}
