/** Long work as operations and steps see it: started, read, and changed in their transaction. */
import { type JsonValue, PlatformError, type ProgramGrant } from '@freehold/contracts';
import { payloadText } from '../lib/values.ts';
import { ENDED_KEPT_MS, eventOfEnd, unknownWork, WAIT_MAX_MS, WORK_ENTITY } from '../long-work/lifecycle.ts';
import type { WorkEntry } from '../long-work/store.ts';
import type { WorkChange, WorkHandle, WorkRow } from '../vertical/long-work.ts';
import type { NewWork } from '../vertical/vertical.ts';
import { appendEvent, type ContextParts, type Frame, requireOpen, requireWritable } from './frame.ts';

/** Unfinished works of one scope. */
const UNFINISHED_MAX = 20;
/** Rows of one work. */
const ROWS_MAX = 200_000;

const WORK_ID = 'wrk';

/** Starts a work of a declared kind; returns its id. */
export function startWork(
  parts: ContextParts,
  frame: Frame,
  kind: string,
  { data = null, total = null, waits = false }: NewWork = {},
): string {
  requireWritable(frame, 'start long work');
  const { vertical, works, unit } = parts;
  const { invocation } = frame;
  if (!Object.hasOwn(vertical.works ?? {}, kind))
    throw new TypeError(`operation ${frame.name}: long work ${kind} is not declared`);
  if (works.unfinished() >= UNFINISHED_MAX)
    throw new PlatformError(
      'conflict',
      `${UNFINISHED_MAX} long works are under way here. Wait until one has ended, or cancel one.`,
      { reason: 'works_full' },
    );
  const id = unit.newId(WORK_ID);
  const entity = { type: WORK_ENTITY, id };
  const payload = JSON.stringify({ kind });
  const cause = appendEvent(parts, frame, { type: 'work.started', entity, payload });
  const nowMs = invocation.nowMs;
  works.insert({
    id,
    kind,
    state: waits ? 'waiting' : 'running',
    data: payloadText(`operation ${frame.name}, long work`, data),
    done: 0,
    total,
    principal: invocation.principal,
    program: programText(invocation.program),
    cause,
    hops: invocation.hops,
    startedAtMs: nowMs,
    nextAtMs: waits ? nowMs + WAIT_MAX_MS : nowMs,
  });
  parts.wakeAfterCommit();
  return id;
}

/** @throws PlatformError `not_found`, reason `unknown_work`. */
export function workOf(parts: ContextParts, frame: Frame, id: string): WorkHandle {
  requireOpen(frame);
  const { works } = parts;
  const entry = works.one(id);
  if (!entry) throw unknownWork();
  return {
    ...presentedEntry(entry),
    rows: {
      put: (rows) => {
        requireWritable(frame, 'write rows of long work');
        for (const row of rows) works.putRow(id, requireRow(frame, row));
      },
      after: (number, limit, status) => {
        requireOpen(frame);
        return works.rows(id, number, limit, status);
      },
      claim: (key, number) => {
        requireWritable(frame, 'take a key of long work');
        return works.claim(id, key, number);
      },
      unclaim: () => {
        requireWritable(frame, 'give back the keys of long work');
        return works.unclaim(id);
      },
    },
    save: (change) => saveWork(parts, frame, id, change),
  };
}

function presentedEntry(entry: WorkEntry): Omit<WorkHandle, 'rows' | 'save'> {
  const { id, kind, state, principal, done, total, mark, data, errorCode, errorDetail } = entry;
  return {
    id,
    kind,
    state,
    principal,
    data: JSON.parse(data) as JsonValue,
    done,
    total,
    mark,
    error: errorCode === null ? null : { code: errorCode, detail: errorDetail ?? '' },
  };
}

function saveWork(parts: ContextParts, frame: Frame, id: string, change: WorkChange): void {
  requireWritable(frame, 'change long work');
  const { works } = parts;
  const entry = works.one(id);
  if (!entry) throw unknownWork();
  const { invocation } = frame;
  const { nowMs } = invocation;
  const { data, done, total, mark, next } = change;
  works.update(id, {
    ...(data === undefined ? {} : { data: payloadText(`operation ${frame.name}, long work`, data) }),
    ...(done === undefined ? {} : { done }),
    ...(total === undefined ? {} : { total }),
    ...(mark === undefined ? {} : { mark }),
    changedAtMs: nowMs,
  });
  if (next === undefined) return;
  if (entry.state !== 'running' && entry.state !== 'waiting')
    throw new PlatformError('conflict', 'This has ended, or is being stopped.', { reason: 'work_ended' });
  works.update(id, {
    state: next === 'end' ? 'done' : next === 'wait' ? 'waiting' : 'running',
    ...(next === 'finish' ? { proof: JSON.stringify(frame.proof) } : {}),
    // The person may have it go on by themself, or through another program than the one that began it.
    ...(invocation.principal === entry.principal ? { program: programText(invocation.program) } : {}),
    ...(next === 'end' ? { endedAtMs: nowMs } : {}),
    nextAtMs: nowMs + (next === 'end' ? ENDED_KEPT_MS : next === 'wait' ? WAIT_MAX_MS : 0),
  });
  if (next === 'end') appendEvent(parts, frame, eventOfEnd(entry, 'done'));
  parts.wakeAfterCommit();
}

function programText(program: ProgramGrant | undefined): string | null {
  return program === undefined ? null : JSON.stringify(program);
}

function requireRow(frame: Frame, row: WorkRow): WorkRow {
  if (!Number.isSafeInteger(row.number) || row.number < 1 || row.number > ROWS_MAX)
    throw new PlatformError('payload_too_large', `A long work has at most ${ROWS_MAX} rows.`, {
      reason: 'work_rows_full',
    });
  if (row.value !== null) payloadText(`operation ${frame.name}, row of long work`, row.value);
  return row;
}
