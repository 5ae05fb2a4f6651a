/**
 * Judges the state that a killed process left, after the next one has settled it: a mutation and its row of the log
 * are both there or both absent.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { adminOperations } from '../../../packages/directory/src/admin-operations.ts';
import { acts, isAct } from './acts.ts';
import { type Condition, type Line, type Logged, PLACE, type RepeatableCall } from './protocol.ts';

/** A call with its result, as far as its caller heard. */
export interface JudgedCall {
  readonly request: string;
  readonly call: RepeatableCall;
  readonly effect: readonly Condition[] | null;
  readonly logged: Logged;
  acknowledged: { readonly head: { readonly sequence: number; readonly hash: string } | null } | null;
  refused: { readonly reason: string; readonly message: string } | null;
  /** The end of long work, when it was heard. */
  ended: string | null;
  /** Whether its caller heard the end of it; for long work that is later than its acknowledgement. */
  concluded: boolean;
}

/** Collects the calls from the lines of a process. */
export function callsOf(lines: readonly Line[]): JudgedCall[] {
  const calls = new Map<string, JudgedCall>();
  for (const line of lines) {
    if (line.t === 'begin') {
      const { request, call, effect } = line;
      const logged = line.logged ?? { where: 'request = ?', params: [request] };
      const unheard = { acknowledged: null, refused: null, ended: null, concluded: false };
      calls.set(request, { request, call, effect, logged, ...unheard });
      continue;
    }
    const judged = 'request' in line ? calls.get(line.request) : undefined;
    if (!judged) continue;
    if (line.t === 'acknowledged') judged.acknowledged = { head: line.head };
    if (line.t === 'refused') judged.refused = { reason: line.reason, message: line.message };
    if (line.t === 'ended') judged.ended = line.state;
    if (line.t !== 'acknowledged' || !isLong(judged.call)) judged.concluded = true;
  }
  return [...calls.values()];
}

interface LogRow {
  readonly sequence: number;
  readonly outcome: string;
}

/** Returns a sentence for each fault in the results of these calls. */
export function faultsOf(place: string, calls: readonly JudgedCall[]): string[] {
  const look = makeLook(place);
  try {
    return calls.flatMap((call) => {
      const faults = faultsOfCall(look, call);
      return faults.map((fault) => `${call.call.operation} (${call.request}): ${fault}`);
    });
  } finally {
    look.close();
  }
}

function faultsOfCall(look: Look, { call, effect, logged, acknowledged, refused }: JudgedCall): string[] {
  const rows = look.all<LogRow>(
    `SELECT sequence, outcome FROM admin_log WHERE action = ? AND ${logged.where} ORDER BY sequence`,
    actionOf(call),
    ...logged.params,
  );
  const has = (outcome: string): boolean => rows.some((row) => row.outcome === outcome);
  const intent = rows.find(({ outcome }) => outcome === 'intent')?.sequence;
  const faults: string[] = [];
  const say = (condition: boolean, fault: string): void => {
    if (condition) faults.push(fault);
  };
  if (refused) return [`it was refused: ${refused.reason}: ${refused.message}`];

  say(rows.filter(({ outcome }) => outcome === 'done').length > 1, 'it is logged as done more than once');
  say(has('done') && has('failed'), 'it is logged as done and as failed');
  if (acknowledged) {
    const { head } = acknowledged;
    const isKept =
      head && look.one('SELECT 1 FROM admin_log WHERE sequence = ? AND hash = ?', head.sequence, head.hash);
    // An act returns no head of the log, because its caller does not use one.
    say(!isKept && !isAct(call.operation), 'the head of the log that was acknowledged is not there');
    say(!has(isLong(call) ? 'intent' : 'done'), 'it was acknowledged and is not logged');
  }
  if (isLong(call) && intent !== undefined) faults.push(...faultsOfLongWork(look, intent, rows));
  if (effect === null || effect.length === 0) return faults;

  const held = effect.map((condition) => look.isTrue(condition));
  const isThere = held.every(Boolean);
  const isGone = !held.some(Boolean);
  const isOpen = intent !== undefined && !has('done') && !has('failed');
  if (has('done')) say(!isThere, `it is logged as done and its effect is not there: ${held}`);
  // An open intent says that the outcome is unknown: the effect may be there, or half of it elsewhere.
  else if (isOpen)
    say(!isKnownOpen(look, intent), 'its intent has no outcome, and is not listed as unsettled');
  else say(!isGone, `it is not logged as done and something of its effect is there: ${held}`);
  return faults;
}

/** Journaled work ends, and the log has its outcome. */
function faultsOfLongWork(look: Look, intent: number, rows: readonly LogRow[]): string[] {
  const [work] = look.all<{ state: string; finished: number | null; problem: string | null }>(
    'SELECT state, finished_at AS finished, problem FROM operations WHERE intent = ?',
    intent,
  );
  if (!work) return ['its intent is logged and no work is written down'];
  if (work.finished === null) return [`it was taken up again and has not ended: it is ${work.state}`];
  const outcome = rows.find((row) => row.outcome === 'done' || row.outcome === 'failed')?.outcome ?? null;
  const expected = work.state === 'done' ? 'done' : 'failed';
  if (outcome === expected) return [];
  // Work that must not run twice is given up, with a sentence, where a crash left its outcome unknown.
  const isGivenUp =
    outcome === null && work.state === 'failed' && `${work.problem}`.includes('outcome_unknown');
  return isGivenUp ? [] : [`it is ${work.state} and logged as ${outcome}: ${work.problem}`];
}

function isKnownOpen(look: Look, intent: number): boolean {
  const isSuperseded = `SELECT 1 FROM admin_log WHERE intent = ? AND outcome = 'superseded'`;
  return look.one('SELECT 1 FROM open_intents WHERE sequence = ?', intent) || look.one(isSuperseded, intent);
}

/** Whether the effect of a call is there now. */
export function isThere(place: string, conditions: readonly Condition[]): boolean {
  const look = makeLook(place);
  try {
    return conditions.every((condition) => look.isTrue(condition));
  } finally {
    look.close();
  }
}

/** Returns the intents without an outcome, except for work that was given up. */
export function openIntents(place: string): readonly { readonly action: string; readonly request: string }[] {
  const look = makeLook(place);
  try {
    return look.all(
      `SELECT l.action, l.request FROM open_intents o JOIN admin_log l ON l.sequence = o.sequence
       WHERE NOT EXISTS (SELECT 1 FROM operations w WHERE w.intent = o.sequence AND w.state = 'failed')`,
    );
  } finally {
    look.close();
  }
}

/** Returns every action of the log. */
export function loggedActions(place: string): readonly string[] {
  const look = makeLook(place);
  try {
    return look.all<{ action: string }>('SELECT DISTINCT action FROM admin_log').map(({ action }) => action);
  } finally {
    look.close();
  }
}

export function isLong({ operation }: RepeatableCall): boolean {
  return !isAct(operation) && adminOperations[operation].success === 202;
}

/** Returns the action of a call in the log. */
function actionOf({ operation }: RepeatableCall): string {
  return isAct(operation) ? acts[operation].action : operation;
}

type Value = string | number;

interface Look {
  all<T>(sql: string, ...params: readonly Value[]): T[];
  one(sql: string, ...params: readonly Value[]): boolean;
  isTrue(condition: Condition): boolean;
  close(): void;
}

/** Reads the files themselves: the code under test could err in the same way as the effect. */
function makeLook(place: string): Look {
  const open = new Map<string, DatabaseSync | null>();
  const database = (unit: string): DatabaseSync | null => {
    if (!open.has(unit)) {
      const path = join(place, PLACE.data, `${unit}.sqlite`);
      open.set(unit, existsSync(path) ? new DatabaseSync(path, { readOnly: true }) : null);
    }
    return open.get(unit) ?? null;
  };
  const rowsOf = (unit: string, sql: string, params: readonly Value[]): unknown[] =>
    database(unit)
      ?.prepare(sql)
      .all(...params) ?? [];
  const look: Look = {
    all: <T>(sql: string, ...params: readonly Value[]) => rowsOf('directory/main', sql, params) as T[],
    one: (sql, ...params) => rowsOf('directory/main', sql, params).length > 0,
    isTrue: (condition) => {
      const isFound =
        'file' in condition
          ? existsSync(join(place, condition.file))
          : rowsOf(condition.unit, condition.sql, condition.params).length > 0;
      return isFound !== (condition.not ?? false);
    },
    close: () => {
      for (const each of open.values()) each?.close();
    },
  };
  return look;
}
