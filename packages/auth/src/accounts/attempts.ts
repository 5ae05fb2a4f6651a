/**
 * Counts attempts before they are judged, so that of a burst of guesses no more are judged than of the same guesses
 * one by one. An account that exists and one that does not are counted alike.
 */
import type { UnitContext } from '@freehold/store';
import { hashToken } from '../lib/token.ts';
import {
  type AttemptRow,
  deleteAttempts,
  forgetExpiredAttempts,
  loadAttempts,
  saveAttempts,
} from './attempt-store.ts';
import type { Limited } from './contract.ts';
import { networkOf } from './network-address.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The first lock; each later one is twice as long, up to an hour. */
const LOCK_FIRST_MS = MINUTE_MS;
const LOCK_MAX_MS = HOUR_MS;
/** How long locks are remembered after the last attempt. */
const LOCK_MEMORY_MS = 24 * HOUR_MS;
/** How many expired rows one attempt takes with it: more than it adds, so that the table shrinks to what counts. */
const FORGOTTEN_AT_ONCE = 50;

/** At most `attemptsMax` within the span before each attempt. `locks`: reaching that locks the key, as does each later attempt. */
interface Rule {
  readonly attemptsMax: number;
  readonly spanMs: number;
  readonly locks: boolean;
}

const RULES = {
  password: { attemptsMax: 5, spanMs: 15 * MINUTE_MS, locks: true },
  second_factor: { attemptsMax: 5, spanMs: 15 * MINUTE_MS, locks: true },
  network: { attemptsMax: 30, spanMs: 10 * MINUTE_MS, locks: false },
  mail: { attemptsMax: 3, spanMs: HOUR_MS, locks: false },
  mail_network: { attemptsMax: 20, spanMs: HOUR_MS, locks: false },
} as const satisfies Record<string, Rule>;

/** What an attempt counts against. */
export interface Counter {
  readonly kind: keyof typeof RULES;
  /** A hash of whom it counts against: probed addresses are not collected in clear. */
  readonly key: string;
}

/** @param email in its one spelling; of an account or of none. */
export function passwordCounter(email: string): Counter {
  return makeCounter('password', email);
}

export function secondFactorCounter(userId: string): Counter {
  return makeCounter('second_factor', userId);
}

/** What every attempt from a network counts against; nothing when nobody knows where it comes from. */
export function networkCounters(address: string | undefined): Counter[] {
  return address ? [makeCounter('network', networkOf(address))] : [];
}

/** What a mail to an address counts against. */
export function mailCounters(email: string, address: string | undefined): Counter[] {
  const sender = address ? [makeCounter('mail_network', networkOf(address))] : [];
  return [makeCounter('mail', email), ...sender, ...networkCounters(address)];
}

/** Counts an attempt against all of these, or, when one of them is at its limit, against none: the answer is how long it stays so. */
export function countAttempt(unit: UnitContext, counters: readonly Counter[]): Limited | null {
  const nowMs = unit.now();
  const present = counters.map((counter) => ({ counter, tally: loadTally(unit, counter) }));
  const retryAfterMs = Math.max(
    0,
    ...present.map(({ counter, tally }) => waitOf(RULES[counter.kind], tally, nowMs)),
  );
  if (retryAfterMs > 0) return { outcome: 'limited', retryAfterMs };
  forgetExpiredAttempts(unit.db, { nowMs, rowsMax: FORGOTTEN_AT_ONCE });
  for (const { counter, tally } of present)
    saveTally(unit, counter, advance(RULES[counter.kind], tally, nowMs));
  return null;
}

/** Forgets every attempt and every lock. */
export function forgetAttempts(unit: UnitContext, counter: Counter): void {
  deleteAttempts(unit.db, counter.key);
}

/** Takes the newest attempt back: it was right, and people who share a network are not to lock each other out. */
export function refundAttempt(unit: UnitContext, counters: readonly Counter[]): void {
  for (const counter of counters) {
    const tally = loadTally(unit, counter);
    const times = tally.times.slice(0, -1);
    if (times.length === 0) deleteAttempts(unit.db, counter.key);
    else saveTally(unit, counter, { ...tally, times });
  }
}

/** When the present lock ends, on the first call since the key was locked; null on later ones and without a lock. */
export function takeUntoldLock(unit: UnitContext, counter: Counter): number | null {
  const tally = loadTally(unit, counter);
  if (tally.locks === 0 || tally.lockTold) return null;
  saveTally(unit, counter, { ...tally, lockTold: true });
  return tally.lockedUntilMs;
}

interface Tally {
  /** Attempts that may still count, oldest first. */
  readonly times: readonly number[];
  readonly locks: number;
  readonly lockedUntilMs: number;
  readonly lockTold: boolean;
  readonly expiresAtMs: number;
}

const NOTHING: Tally = { times: [], locks: 0, lockedUntilMs: 0, lockTold: false, expiresAtMs: 0 };

/** How long until another attempt may be made; 0 when it may be made now. */
function waitOf(rule: Rule, tally: Tally, nowMs: number): number {
  const lockMs = Math.max(0, tally.lockedUntilMs - nowMs);
  const counting = countingTimes(rule, tally, nowMs);
  const oldest = counting.at(-rule.attemptsMax);
  return oldest === undefined ? lockMs : Math.max(lockMs, oldest + rule.spanMs - nowMs);
}

/** The tally with one more attempt. It is locked by the very attempt that reaches the limit, before that one is judged. */
function advance(rule: Rule, tally: Tally, nowMs: number): Tally {
  const times = [...countingTimes(rule, tally, nowMs), nowMs];
  if (!rule.locks || (tally.locks === 0 && times.length < rule.attemptsMax))
    return { ...tally, times, expiresAtMs: nowMs + rule.spanMs };
  const lockMs = Math.min(LOCK_FIRST_MS * 2 ** tally.locks, LOCK_MAX_MS);
  return {
    times: [],
    locks: tally.locks + 1,
    lockedUntilMs: nowMs + lockMs,
    lockTold: false,
    expiresAtMs: nowMs + LOCK_MEMORY_MS,
  };
}

function countingTimes(rule: Rule, tally: Tally, nowMs: number): readonly number[] {
  return tally.times.filter((atMs) => atMs > nowMs - rule.spanMs);
}

function makeCounter(kind: Counter['kind'], of: string): Counter {
  return { kind, key: `${kind}:${hashToken(of)}` };
}

function loadTally(unit: UnitContext, counter: Counter): Tally {
  const row = loadAttempts(unit.db, counter.key);
  if (!row || row.expiresAtMs <= unit.now()) return NOTHING;
  return { ...row, times: JSON.parse(row.times), lockTold: row.lockTold === 1 };
}

function saveTally(unit: UnitContext, counter: Counter, tally: Tally): void {
  const row: AttemptRow = { ...tally, times: JSON.stringify(tally.times), lockTold: Number(tally.lockTold) };
  saveAttempts(unit.db, counter.key, row);
}
