/**
 * Performs one call against the model: the same steps as the vertical's, against maps. Rows that get an id from the
 * kernel have a provisional one until the call is over, and are then compared with the recorded rows.
 */
import type { EntityRef, ProblemCode } from '@freehold/contracts';
import { BANK, CHAIN_MAX, ENTITIES, EXECUTORS, OPERATIONS, SUBSCRIPTIONS } from '../ledger/ledger.ts';
import { type LedgerInput, personsOf, type Said, type Step } from '../ledger/steps.ts';
import { grantKey, heldUntil, liveGrant, prove, reach } from './permissions.ts';
import {
  type DenialRow,
  type EventRow,
  fingerprintOf,
  type InvocationRow,
  type RequestRow,
  type ScopeState,
} from './state.ts';

/** A failed answer. */
export class ModelFailure extends Error {
  readonly code: ProblemCode;
  readonly reason: string;

  constructor(code: ProblemCode, reason = '') {
    super(`${code}/${reason}`);
    this.code = code;
    this.reason = reason;
  }
}

/** A bug of the vertical, as its caller sees it. */
export function bug(): ModelFailure {
  return new ModelFailure('internal');
}

/** Keys of persons are missing: the handler has not run, and will once they are there. */
export function keysNeeded(): ModelFailure {
  return new ModelFailure('unavailable', 'subject_keys_needed');
}

/** A row that gets its id from the kernel. The provisional id sorts after every real one. */
export interface PendingEvent extends EventRow {
  /** The plain text of a sealed payload. */
  readonly clear: string | null;
}

/** The recorded rows of a call so far, apart from the tables. */
export interface Recorded {
  events: PendingEvent[];
  invocations: InvocationRow[];
  requests: RequestRow[];
  denials: DenialRow[];
  /** Deliveries that were put off: chance decides until when, within bounds. */
  deferred: DeferredDelivery[];
  /** Actions for the moment when the ids are known. */
  later: (() => void)[];
}

export interface DeferredDelivery {
  readonly subscriber: string;
  readonly type: string;
  readonly event: string;
  readonly earliestMs: number;
  readonly latestMs: number;
}

export function nothingRecorded(): Recorded {
  return { events: [], invocations: [], requests: [], denials: [], deferred: [], later: [] };
}

/** The surroundings of one call. */
export interface CallWorld {
  readonly state: ScopeState;
  readonly recorded: Recorded;
  readonly nowMs: number;
  /** The open unit's knowledge of a person: a key, or an erasure. */
  readonly keys: ReadonlyMap<string, 'key' | 'erased'>;
  /** Whether the rights for the whole scope must not change, because another state is about to take its place. */
  readonly isHeld: boolean;
  /** Returns a fresh provisional id. */
  readonly provisional: () => string;
  /** The real id of each provisional one, once the call is over. */
  readonly real: Map<string, string>;
}

export function makeCallWorld(parts: Pick<CallWorld, 'state' | 'nowMs' | 'keys' | 'isHeld'>): CallWorld {
  let made = 0;
  return {
    ...parts,
    recorded: nothingRecorded(),
    provisional: () => {
      made += 1;
      return `~${String(made).padStart(6, '0')}`;
    },
    real: new Map(),
  };
}

interface Invocation {
  readonly principal: string;
  /** The number of deliveries that led to it. */
  hops: number;
  refusal: { readonly failure: ModelFailure; readonly denial: DenialRow } | null;
  readonly subjects: Set<string>;
}

interface Frame {
  readonly invocation: Invocation;
  readonly operation: string;
  /** The id of its invocation. */
  readonly self: string;
  readonly cause: string | null;
  readonly readOnly: boolean;
  readonly proof: string;
  lastEvent: string | null;
}

export interface ModelRequest {
  readonly operation: string;
  readonly input: unknown;
  readonly principal: string;
  readonly idempotencyKey?: string;
  readonly ifMatch?: string;
  readonly cause?: string;
  /** Persons that the delivery touches beside the operation. */
  readonly declared?: readonly string[];
}

const IDEMPOTENCY_MS = 24 * 3_600_000;
const CLEARED_PER_CALL = 20;
const PENDING_REQUESTS_MAX = 1_000;

/** Runs `work` so that it leaves nothing behind when it fails. */
export function whole<T>({ state, recorded }: CallWorld, work: () => T): T {
  const mark = state.tables.mark();
  const sizes = Object.fromEntries(
    Object.entries(recorded).map(([name, list]) => [name, (list as unknown[]).length]),
  );
  try {
    return work();
  } catch (error) {
    state.tables.rollback(mark);
    for (const [name, list] of Object.entries(recorded)) (list as unknown[]).length = sizes[name] as number;
    throw error;
  }
}

/**
 * Performs one invocation. Returns a function that makes the result once the ids are known.
 * @throws ModelFailure; `refused` receives the denial.
 */
export function invoke(
  world: CallWorld,
  request: ModelRequest,
  refused: (denial: DenialRow) => void,
): () => unknown {
  const invocation: Invocation = {
    principal: request.principal,
    hops: 0,
    refusal: null,
    subjects: new Set(),
  };
  try {
    return whole(world, () => perform(world, request, invocation));
  } catch (error) {
    if (!invocation.refusal) throw error;
    refused(invocation.refusal.denial);
    throw invocation.refusal.failure;
  }
}

function perform(world: CallWorld, request: ModelRequest, invocation: Invocation): () => unknown {
  const { state, nowMs } = world;
  const { operation: name, principal, idempotencyKey, ifMatch, cause = null } = request;
  const declared = OPERATIONS[name];
  if (!declared) throw new ModelFailure('not_found', 'unknown_operation');
  if (cause !== null) {
    const event = eventOf(world, cause);
    if (!event) throw new ModelFailure('not_found', 'unknown_cause');
    invocation.hops = event.hops + 1;
  }
  if (!isLedgerInput(request.input)) throw new ModelFailure('validation_failed');
  const { input } = request;
  const entity = entityOf(name, input);
  const proof = demand(world, invocation, name, declared.permission, entity);
  const isKeyed = !declared.readOnly && idempotencyKey !== undefined;
  const key = `${principal} ${name} ${idempotencyKey}`;
  if (isKeyed) {
    const stored = state.idempotency.get(key);
    if (stored && stored.at > nowMs - IDEMPOTENCY_MS) {
      if (stored.fingerprint !== fingerprintOf(input))
        throw new ModelFailure('conflict', 'idempotency_key_reused');
      return recall(world, stored.subjects ?? [], key);
    }
  }
  if (ifMatch !== undefined && !declared.readOnly) {
    if (!entity) throw new ModelFailure('validation_failed', 'no_version');
    const version = versionOf(state, entity);
    if (version === null || (ifMatch !== '*' && ifMatch !== version))
      throw new ModelFailure('precondition_failed');
  }
  const persons = [
    ...(request.declared ?? []),
    ...personsOf(input.steps, (place) => state.places.get(place)?.person),
  ];
  if (persons.some((person) => !world.keys.has(person))) throw keysNeeded();
  const { said, self } = runFrame(world, invocation, {
    name,
    input,
    proof,
    parent: null,
    cause,
    idempotencyKey: isKeyed ? (idempotencyKey as string) : null,
  });
  const result = () => ({
    output: { said },
    invocation: declared.readOnly ? null : (world.real.get(self) ?? null),
    version: entity ? versionOf(state, entity) : null,
    replayed: false,
  });
  if (isKeyed)
    remember(
      world,
      { key, principal, name, idempotencyKey: idempotencyKey as string, input },
      invocation,
      result,
    );
  return result;
}

/** Returns a stored answer, as long as none of its persons is erased. */
function recall(world: CallWorld, subjects: readonly string[], key: string): () => unknown {
  if (subjects.some((person) => !world.keys.has(person))) throw keysNeeded();
  for (const person of [...subjects].reverse()) {
    const known = world.keys.get(person);
    if (known === 'erased') throw new ModelFailure('conflict', 'idempotency_answer_erased');
  }
  const stored = world.state.clear.get(`answer/${key}`);
  return () => ({ ...JSON.parse(stored ?? 'null'), replayed: true });
}

function remember(
  world: CallWorld,
  call: {
    readonly key: string;
    readonly principal: string;
    readonly name: string;
    readonly idempotencyKey: string;
    readonly input: LedgerInput;
  },
  { subjects }: Invocation,
  result: () => unknown,
): void {
  const { state, recorded, nowMs } = world;
  // The answer must not contain anything about an erased person.
  const about = [...subjects].filter((person) => world.keys.get(person) !== 'erased').sort();
  const expired = state.idempotency
    .values()
    .filter(({ at }) => at <= nowMs - IDEMPOTENCY_MS)
    .sort((a, b) => a.at - b.at || (idempotencyKeyOf(a) < idempotencyKeyOf(b) ? -1 : 1));
  for (const row of expired.slice(0, CLEARED_PER_CALL))
    state.idempotency.delete(`${row.principal} ${row.operation} ${row.key}`);
  recorded.later.push(() => {
    const value = result();
    state.idempotency.set(call.key, {
      principal: call.principal,
      operation: call.name,
      key: call.idempotencyKey,
      fingerprint: fingerprintOf(call.input),
      subjects: about.length === 0 ? null : about,
      result: about.length === 0 ? value : null,
      at: nowMs,
    });
    state.clear.set(`answer/${call.key}`, JSON.stringify(value));
  });
}

function idempotencyKeyOf({
  principal,
  operation,
  key,
}: {
  principal: string;
  operation: string;
  key: string;
}): string {
  return `${principal}\u0000${operation}\u0000${key}`;
}

interface FrameStart {
  readonly name: string;
  readonly input: LedgerInput;
  readonly proof: string;
  readonly parent: string | null;
  readonly cause: string | null;
  readonly idempotencyKey: string | null;
}

function runFrame(
  world: CallWorld,
  invocation: Invocation,
  start: FrameStart,
): { readonly said: readonly Said[]; readonly self: string } {
  const readOnly = OPERATIONS[start.name]?.readOnly ?? false;
  const self = world.provisional();
  // Invocations get their ids when they begin, so that they sort in that order.
  if (!readOnly)
    world.recorded.invocations.push({
      id: self,
      operation: start.name,
      principal: invocation.principal,
      parent: start.parent,
      cause: start.cause,
      idempotencyKey: start.idempotencyKey,
      startedAt: world.nowMs,
    });
  const frame: Frame = {
    invocation,
    operation: start.name,
    self,
    cause: start.cause,
    readOnly,
    proof: start.proof,
    lastEvent: null,
  };
  const said: Said[] = [];
  for (const step of start.input.steps) performStep(world, frame, step, said);
  if (start.input.ends !== 'well') throw bug();
  if (invocation.refusal) throw invocation.refusal.failure;
  return { said, self };
}

function performStep(world: CallWorld, frame: Frame, step: Step, said: Said[]): void {
  const { state, nowMs } = world;
  const { invocation, operation } = frame;
  const { principal } = invocation;
  switch (step.do) {
    case 'put':
      if (frame.readOnly) throw bug();
      state.notes.set(step.id, { id: step.id, value: step.value });
      return;
    case 'read':
      said.push(state.notes.get(step.id)?.value ?? null);
      return;
    case 'open':
      if (frame.readOnly || state.accounts.has(step.account)) throw bug();
      state.accounts.set(step.account, { id: step.account, balance: 0 });
      emit(
        world,
        frame,
        'account.opened',
        { type: 'account', id: step.account },
        { text: step.account },
        null,
      );
      return;
    case 'move':
      move(world, frame, step);
      return;
    case 'balance':
      said.push(state.accounts.get(step.account)?.balance ?? null);
      return;
    case 'emit':
      emit(world, frame, step.type, step.entity, step.payload, step.person);
      return;
    case 'invoke':
      caught(step.caught, () => invokeNested(world, frame, step.operation, step.input));
      return;
    case 'undone': {
      const { lastEvent } = frame;
      caught(true, () =>
        whole(world, () => {
          try {
            for (const each of step.steps) performStep(world, frame, each, said);
          } finally {
            // A savepoint that is undone takes its events along.
            frame.lastEvent = lastEvent;
          }
          throw bug();
        }),
      );
      return;
    }
    case 'check':
      caught(step.caught, () => void demand(world, invocation, operation, step.permission, step.entity));
      return;
    case 'can':
      said.push(
        prove(state, { principal, permission: step.permission, entity: step.entity, nowMs }) !== null,
      );
      return;
    case 'reach': {
      said.push(reach(state, { principal, permission: step.permission, nowMs }, step.entityType));
      return;
    }
    case 'grant':
      grant(world, frame, step);
      return;
    case 'revoke': {
      const { subject, permission, entity } = step;
      if (!entity) requireFree(world);
      const untilMs = requireHeld(world, frame, permission, entity);
      const before = liveGrant(state, { principal: subject, permission, entity, nowMs });
      if (before && (before.expiresAt ?? Infinity) > untilMs) refuseBeyond(world, frame, permission, entity);
      state.grants.delete(grantKey(subject, permission, entity));
      return;
    }
    case 'place':
      if (frame.readOnly) throw bug();
      place(state, step.entity, step.parent);
      return;
    case 'ask': {
      if (frame.readOnly) throw bug();
      const waiting =
        state.requests.values().filter(({ status }) => status === 'pending').length +
        world.recorded.requests.length;
      if (waiting >= PENDING_REQUESTS_MAX) throw new ModelFailure('rate_limited', 'platform_requests_full');
      world.recorded.requests.push({
        id: world.provisional(),
        kind: step.kind,
        payload: JSON.stringify(step.payload),
        status: 'pending',
        revision: 1,
        requestedBy: principal,
        invocation: frame.self,
        cause: frame.lastEvent ?? frame.cause,
        at: nowMs,
        settledAt: null,
        result: null,
      });
      return;
    }
    case 'keep':
      requireKey(world, invocation, step.person, 'to seal');
      if (frame.readOnly) throw bug();
      state.places.set(step.place, { place: step.place, person: step.person });
      state.clear.set(`value/${step.place}`, JSON.stringify(step.value));
      state.people.set(step.person, { person: step.person, name: `name of ${step.person}` });
      return;
    case 'unseal': {
      const row = state.places.get(step.place);
      if (!row) return void said.push(null);
      const known = requireKey(world, invocation, row.person, 'to open');
      said.push(known === 'erased' ? null : JSON.parse(state.clear.get(`value/${step.place}`) ?? ''));
      return;
    }
    case 'setting':
      said.push(state.settings.get(step.key)?.value ?? null);
      return;
    case 'until':
      if (nowMs < step.atMs) throw new ModelFailure('conflict', 'not_yet');
      return;
    case 'fail':
      throw step.how === 'conflict' ? new ModelFailure('conflict', 'told_to') : bug();
  }
}

function emit(
  world: CallWorld,
  frame: Frame,
  type: string,
  entity: EntityRef,
  payload: unknown,
  person: string | null,
): void {
  if (frame.readOnly) throw bug();
  if (person !== null) requireKey(world, frame.invocation, person, 'to seal');
  const text = JSON.stringify(payload);
  const id = world.provisional();
  world.recorded.events.push({
    id,
    type,
    entityType: entity.type,
    entityId: entity.id,
    actor: frame.invocation.principal,
    operation: frame.operation,
    invocation: frame.self,
    cause: frame.cause,
    hops: frame.invocation.hops,
    proof: frame.proof,
    piiClass: person === null ? 'none' : 'direct',
    subject: person,
    payload: person === null ? text : 'sealed',
    clear: person === null ? null : text,
    at: world.nowMs,
  });
  for (const subscriber of listenersOf(type)) {
    const delivery = { subscriber, type, event: id };
    if (frame.invocation.hops < CHAIN_MAX) enqueue(world.state, delivery, world.nowMs);
    else endChain(world.state, delivery, world.nowMs);
  }
  frame.lastEvent = id;
}

/** Queues an event for a subscriber. */
export function enqueue(
  state: ScopeState,
  delivery: { readonly subscriber: string; readonly type: string; readonly event: string },
  nowMs: number,
): void {
  const key = `${delivery.subscriber} ${delivery.type} ${delivery.event}`;
  if (state.deliveries.has(key)) return;
  state.deliveries.set(key, { ...delivery, attempts: 0, claim: 0, nextAt: nowMs, firstAt: null });
}

/** A chain of too many deliveries ends without a delivery. */
function endChain(
  { dead }: ScopeState,
  delivery: { readonly subscriber: string; readonly type: string; readonly event: string },
  nowMs: number,
): void {
  dead.set(`${delivery.event} ${delivery.subscriber}`, {
    ...delivery,
    attempts: 0,
    firstAt: nowMs,
    lastAt: nowMs,
    code: 'conflict',
  });
}

function move(
  world: CallWorld,
  frame: Frame,
  { from, to, amount, torn }: Extract<Step, { do: 'move' }>,
): void {
  const { accounts } = world.state;
  const source = accounts.get(from);
  if (!source || !accounts.has(to)) throw new ModelFailure('not_found', 'no_account');
  if (from !== BANK && source.balance < amount) throw new ModelFailure('conflict', 'not_enough');
  if (frame.readOnly) throw bug();
  accounts.set(from, { id: from, balance: source.balance - amount });
  emit(world, frame, 'money.debited', { type: 'account', id: from }, { text: `${amount}` }, null);
  if (torn) throw bug();
  accounts.set(to, { id: to, balance: (accounts.get(to)?.balance ?? 0) + amount });
  emit(world, frame, 'money.credited', { type: 'account', id: to }, { text: `${amount}` }, null);
}

function invokeNested(world: CallWorld, frame: Frame, name: string, input: LedgerInput): void {
  const declared = OPERATIONS[name];
  if (!declared || (frame.readOnly && !declared.readOnly)) throw bug();
  const work = (): void => {
    const proof = demand(world, frame.invocation, name, declared.permission, entityOf(name, input));
    runFrame(world, frame.invocation, {
      name,
      input,
      proof,
      parent: frame.self,
      cause: frame.lastEvent ?? frame.cause,
      idempotencyKey: null,
    });
  };
  if (declared.readOnly) work();
  else whole(world, work);
}

function place({ parents }: ScopeState, entity: EntityRef, parent: EntityRef | null): void {
  const key = `${entity.type} ${entity.id}`;
  if (parent === null) {
    parents.delete(key);
    return;
  }
  if (ENTITIES[entity.type] !== parent.type) throw bug();
  parents.set(key, {
    entityType: entity.type,
    entityId: entity.id,
    parentType: parent.type,
    parentId: parent.id,
  });
}

function grant(world: CallWorld, frame: Frame, step: Extract<Step, { do: 'grant' }>): void {
  const { state, nowMs } = world;
  const { subject, permission, entity, expiresAtMs } = step;
  if (!entity) requireFree(world);
  const untilMs = requireHeld(world, frame, permission, entity);
  if ((expiresAtMs ?? Infinity) > untilMs) refuseBeyond(world, frame, permission, entity);
  const before = liveGrant(state, { principal: subject, permission, entity, nowMs });
  if (before && (before.expiresAt ?? Infinity) > untilMs) return;
  state.grants.set(grantKey(subject, permission, entity), {
    subject,
    permission,
    entityType: entity?.type ?? '',
    entityId: entity?.id ?? '',
    expiresAt: expiresAtMs,
    grantedBy: frame.invocation.principal,
    at: nowMs,
  });
}

export function requireFree({ isHeld }: CallWorld): void {
  if (isHeld) throw new ModelFailure('unavailable', 'busy');
}

function requireHeld(world: CallWorld, frame: Frame, permission: string, entity: EntityRef | null): number {
  if (frame.readOnly) throw bug();
  const { invocation, operation } = frame;
  demand(world, invocation, operation, permission, entity);
  const { principal } = invocation;
  return heldUntil(world.state, { principal, permission, entity, nowMs: world.nowMs }) ?? world.nowMs;
}

/** Returns the JSON of the proof. Records a refusal even if the vertical catches the error. */
function demand(
  { state, nowMs }: CallWorld,
  invocation: Invocation,
  operation: string,
  permission: string,
  entity: EntityRef | null,
): string {
  const proof = prove(state, { principal: invocation.principal, permission, entity, nowMs });
  if (proof) return JSON.stringify(proof);
  return refuse(invocation, operation, permission, entity, permission.replaceAll('.', '_'), nowMs);
}

function refuseBeyond(
  { nowMs }: CallWorld,
  frame: Frame,
  permission: string,
  entity: EntityRef | null,
): never {
  return refuse(frame.invocation, frame.operation, permission, entity, 'grant_outlives_holder', nowMs);
}

function refuse(
  invocation: Invocation,
  operation: string,
  permission: string,
  entity: EntityRef | null,
  reason: string,
  nowMs: number,
): never {
  invocation.refusal ??= {
    failure: new ModelFailure('permission_denied', reason),
    denial: {
      id: '',
      actor: invocation.principal,
      permission,
      entityType: entity?.type ?? null,
      entityId: entity?.id ?? null,
      operation,
      at: nowMs,
    },
  };
  throw invocation.refusal.failure;
}

function requireKey(
  { keys }: CallWorld,
  invocation: Invocation,
  person: string,
  purpose: 'to seal' | 'to open',
): 'key' | 'erased' {
  invocation.subjects.add(person);
  const known = keys.get(person);
  if (known === undefined) throw new Error(`the model has no key of ${person}, who was declared`);
  if (known === 'erased' && purpose === 'to seal') throw new ModelFailure('conflict', 'subject_shredded');
  return known;
}

/** Returns a stored event, or one that this call recorded. */
export function eventOf({ state, recorded }: CallWorld, id: string): EventRow | undefined {
  return state.events.get(id) ?? recorded.events.find((event) => event.id === id);
}

/** Returns the id of the last event on an entity. */
export function versionOf(state: ScopeState, { type, id }: EntityRef): string | null {
  return state.newest.get(`version ${type} ${id}`) ?? null;
}

/** Returns the subscribers of an event type. */
function listenersOf(type: string): string[] {
  return [...Object.entries(SUBSCRIPTIONS), ...Object.entries(EXECUTORS)]
    .filter(([, { on }]) => on.includes(type))
    .map(([name]) => name);
}

function entityOf(name: string, { id }: LedgerInput): EntityRef | null {
  const type = OPERATIONS[name]?.entityType ?? null;
  return type === null ? null : { type, id };
}

function isLedgerInput(input: unknown): input is LedgerInput {
  return typeof input === 'object' && input !== null && 'steps' in input && 'ends' in input;
}

function caught(isCaught: boolean, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isCaught || !(error instanceof ModelFailure)) throw error;
  }
}
