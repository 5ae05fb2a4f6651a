/**
 * The life of a long work, one transaction at a time: a step, a failure, what is taken back, the end, and 30 days later
 * its removal. The scope's round (`deliveries/work.ts`) does the due part of one work; nothing but the rows says how far a
 * work has come, so that a crash repeats the step that was not committed, and no other.
 */
import { type EntityRef, PlatformError, type ProgramGrant } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import type { ActingProgram, JudgedProgram } from '../contract/scope-methods.ts';
import { type OutsideParts, recordOutside } from '../events/outside.ts';
import { programColumn } from '../lib/programs.ts';
import type { Vertical } from '../vertical/vertical.ts';
import type { makeWorkStore, WorkEntry } from './store.ts';

/** The entity type of the events of long work. */
export const WORK_ENTITY = 'work';
const DAY_MS = 86_400_000;
/** A work that waits for a person longer than this is cancelled. */
export const WAIT_MAX_MS = 7 * DAY_MS;
/** An ended work and its rows are kept so long. */
export const ENDED_KEPT_MS = 30 * DAY_MS;
/** A step that fails unexpectedly is tried so often, with a wait of 1, 4, 16 and 64 seconds. */
const ATTEMPTS_MAX = 5;
/** The wait after a failure to take back or to remove. */
const RETRY_MS = 60_000;
/** A time that lies further ahead is of a clock that was wrong. */
const AHEAD_MAX_MS = 120_000;

export interface LifecycleParts extends OutsideParts {
  readonly vertical: Vertical;
  readonly works: ReturnType<typeof makeWorkStore>;
  /** The vertical's view of the database. */
  readonly sql: SqlDatabase;
  readonly unit: UnitContext;
}

/** Returns the due work; else the time at which the next one is, or null. */
export function dueWork({ works, unit }: LifecycleParts): WorkEntry | { readonly nextAtMs: number | null } {
  const entry = works.due();
  if (!entry) return { nextAtMs: null };
  const { state, nextAtMs } = entry;
  const aheadMs = (nextAtMs ?? 0) - unit.now();
  const isActive = state === 'running' || state === 'stopping';
  return aheadMs <= 0 || (isActive && aheadMs > AHEAD_MAX_MS) ? entry : { nextAtMs };
}

/** Returns the program through which the due step is made; null where none is due, or all of the work is decided. */
export function programToJudge(parts: LifecycleParts): ActingProgram | null {
  const entry = dueWork(parts);
  return 'id' in entry ? actingProgram(entry) : null;
}

function actingProgram({ state, proof, program, principal }: WorkEntry): ActingProgram | null {
  if (state !== 'running' || proof !== null || program === null) return null;
  return { grant: (JSON.parse(program) as ProgramGrant).id, principal };
}

/**
 * Returns a work with what its program is allowed now. Null where no step is made: the access of the program has ended,
 * which ends the work, or it cannot be learnt at present, which puts it off, or another program was judged.
 */
export function judgeProgram(
  parts: LifecycleParts,
  entry: WorkEntry,
  judged: JudgedProgram | undefined,
): WorkEntry | null {
  const acting = actingProgram(entry);
  if (acting === null) return entry;
  if (judged?.grant !== acting.grant) return null;
  const { allowed } = judged;
  if (allowed === 'unknown') putOff(parts, entry);
  else if (allowed === null) {
    const { name } = JSON.parse(entry.program ?? '') as ProgramGrant;
    const detail = `The access of ${name}, through which this was begun, has ended.`;
    stopWork(parts, entry, 'failed', { code: 'permission_denied', detail });
  } else return { ...entry, program: JSON.stringify(allowed) };
  return null;
}

/** Puts off what could not be done now. */
export function putOff({ works, unit }: Pick<LifecycleParts, 'works' | 'unit'>, { id }: WorkEntry): void {
  works.update(id, { nextAtMs: unit.now() + RETRY_MS });
}

/** Takes in the failure of a step. One that was meant for people ends the work; another is tried again. */
export function stepFailed(
  parts: LifecycleParts,
  entry: WorkEntry,
  error: WorkError,
  isFinal: boolean,
): void {
  const { works, unit } = parts;
  const nowMs = unit.now();
  const attempts = entry.attempts + 1;
  if (!isFinal && attempts < ATTEMPTS_MAX)
    works.update(entry.id, { attempts, nextAtMs: nowMs + 1_000 * 4 ** (attempts - 1), changedAtMs: nowMs });
  else if (entry.proof === null) stopWork(parts, entry, 'failed', error);
  // Decided work is not taken back: it goes on when it is resumed.
  else
    works.update(entry.id, {
      state: 'halted',
      errorCode: error.code,
      errorDetail: error.detail,
      nextAtMs: null,
      changedAtMs: nowMs,
    });
}

export interface WorkError {
  readonly code: string;
  readonly detail: string;
}

/** Begins to stop a work: what it wrote is taken back next. */
export function stopWork(
  { works, unit }: Pick<LifecycleParts, 'works' | 'unit'>,
  { id }: WorkEntry,
  ending: 'failed' | 'cancelled',
  error: WorkError | null,
): void {
  const nowMs = unit.now();
  works.update(id, {
    state: 'stopping',
    ending,
    attempts: 0,
    errorCode: error?.code ?? null,
    errorDetail: error?.detail ?? null,
    changedAtMs: nowMs,
    nextAtMs: nowMs,
  });
}

/** Does the due part of a work that runs no step: it expires, is taken back, or is removed. */
export function tidyWork(parts: LifecycleParts, entry: WorkEntry): void {
  const { works, vertical, sql, unit } = parts;
  const { id, kind, state, mark, ending } = entry;
  if (state === 'running') {
    // Its kind is no longer declared.
    stopWork(parts, entry, 'failed', { code: 'unsupported', detail: 'This version has no such work.' });
  } else if (state === 'waiting') {
    stopWork(parts, entry, 'cancelled', { code: 'conflict', detail: 'It waited for seven days.' });
  } else if (state === 'stopping') {
    const abandon = vertical.works?.[kind]?.abandon;
    const isTakenBack = abandon?.({ sql, now: unit.now() }, { id, mark }) ?? true;
    if (!isTakenBack || !works.clear(id)) works.update(id, { nextAtMs: unit.now() });
    else endWork(parts, entry, ending ?? 'cancelled');
  } else if (works.clear(id)) works.remove(id);
}

function endWork(parts: LifecycleParts, entry: WorkEntry, state: 'failed' | 'cancelled'): void {
  const { works, unit } = parts;
  const nowMs = unit.now();
  // The data may hold some of what was staged.
  works.update(entry.id, {
    state,
    mark: null,
    data: 'null',
    endedAtMs: nowMs,
    changedAtMs: nowMs,
    nextAtMs: nowMs + ENDED_KEPT_MS,
  });
  const { type, entity, payload } = eventOfEnd(entry, state);
  recordOutside(parts, {
    type,
    entity,
    payload: JSON.parse(payload),
    operation: entry.kind,
    actor: entry.principal,
    program: entry.program === null ? null : programColumn(JSON.parse(entry.program) as ProgramGrant),
    proof: JSON.stringify({ by: 'work', work: entry.id }),
    cause: { event: entry.cause, hops: entry.hops },
  });
}

/** The event of an end, on the work itself. */
export function eventOfEnd(
  { id, kind }: Pick<WorkEntry, 'id' | 'kind'>,
  state: 'done' | 'failed' | 'cancelled',
): { readonly type: string; readonly entity: EntityRef; readonly payload: string } {
  return { type: `work.${state}`, entity: { type: WORK_ENTITY, id }, payload: JSON.stringify({ kind }) };
}

/** Whether a failure of a step will not pass by itself. */
export function isFinalFailure(error: Error): boolean {
  return error instanceof PlatformError && error.code !== 'unavailable' && error.code !== 'internal';
}

export function unknownWork(): PlatformError {
  return new PlatformError('not_found', 'There is no such long work.', { reason: 'unknown_work' });
}
