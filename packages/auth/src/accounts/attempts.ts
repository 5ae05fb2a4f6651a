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
import type { Attempt, Limited, LinkPurpose } from './contract.ts';
import type { AccountRow } from './store.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The first lock; each later one is twice as long, up to an hour. */
const LOCK_FIRST_MS = MINUTE_MS;
const LOCK_MAX_MS = HOUR_MS;
/** Locks are remembered for this long after the last attempt. */
const LOCK_MEMORY_MS = 24 * HOUR_MS;
/** One attempt removes so many expired rows: more than it adds, so that the table shrinks to those that count. */
const FORGOTTEN_AT_ONCE = 50;

interface Rule {
  readonly attemptsMax: number;
  readonly spanMs: number;
  /** Whether reaching the maximum locks the key: never, each time, or from then on with every attempt. */
  readonly locks: 'never' | 'each_time' | 'from_then_on';
}

/** Five guesses, and then each costs more patience than the one before. */
const GUESSES = { attemptsMax: 5, spanMs: 15 * MINUTE_MS, locks: 'from_then_on' } as const;

const RULES = {
  /** One network's guesses at an account lock that network out, and not the holder who is elsewhere. */
  password_network: GUESSES,
  /** All networks together, and the only rule where the network is unknown. Locking it takes many requests. */
  password: { attemptsMax: 30, spanMs: HOUR_MS, locks: 'each_time' },
  /** A browser that the account knows: no other guesses count here. */
  password_browser: GUESSES,
  /** A guesser of codes has shown the password. */
  second_factor: GUESSES,
  second_factor_browser: GUESSES,
  network: { attemptsMax: 30, spanMs: 10 * MINUTE_MS, locks: 'never' },
  mail_address_network: { attemptsMax: 3, spanMs: HOUR_MS, locks: 'never' },
  mail_address: { attemptsMax: 10, spanMs: HOUR_MS, locks: 'never' },
  mail_network: { attemptsMax: 20, spanMs: HOUR_MS, locks: 'never' },
  lock_mail: { attemptsMax: 1, spanMs: 24 * HOUR_MS, locks: 'never' },
} as const satisfies Record<string, Rule>;

export interface Counter {
  readonly kind: keyof typeof RULES;
  /** Holds a hash, so that probed addresses are not collected in clear. */
  readonly key: string;
}

interface Source {
  readonly address?: string | undefined;
  /** The id of a browser that the account knows: no other attempts use up its count. */
  readonly browserId?: string | undefined;
}

/** Returns the source of an attempt. A new password makes every browser of the account unknown. */
export function sourceOf(account: AccountRow | undefined, { address, browser }: Attempt): Source {
  const isKnown =
    browser !== undefined &&
    browser.userId === account?.userId &&
    browser.sinceMs >= (account.passwordChangedAtMs ?? 0);
  return { address, browserId: isKnown ? browser.id : undefined };
}

/** Returns the counters of an attempt at a password. @param email in its one spelling; of an account or of none. */
export function passwordCounters(email: string, { address, browserId }: Source): Counter[] {
  if (browserId !== undefined) return [makeCounter('password_browser', email, browserId)];
  const network = address ? [makeCounter('password_network', email, networkOf(address))] : [];
  return [...network, makeCounter('password', email), ...networkCounters(address)];
}

export function secondFactorCounters(userId: string, { address, browserId }: Source): Counter[] {
  if (browserId !== undefined) return [makeCounter('second_factor_browser', userId, browserId)];
  return [makeCounter('second_factor', userId), ...networkCounters(address)];
}

/**
 * Returns the counters of a mail to an address. Each purpose has its own, so that an attacker who asks for sign-ups
 * does not keep the holder of an account from a reset.
 */
export function mailCounters(purpose: LinkPurpose, email: string, address: string | undefined): Counter[] {
  const all = makeCounter('mail_address', purpose, email);
  if (!address) return [all];
  const network = networkOf(address);
  return [
    makeCounter('mail_address_network', purpose, email, network),
    all,
    makeCounter('mail_network', network),
    ...networkCounters(address),
  ];
}

export function lockMailCounter(userId: string): Counter {
  return makeCounter('lock_mail', userId);
}

function networkCounters(address: string | undefined): Counter[] {
  return address ? [makeCounter('network', networkOf(address))] : [];
}

/** Adds an attempt to all counters; or to none when one of them is at its limit, and returns how long it stays so. */
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

/**
 * Clears the account's counters and locks after a right attempt, and takes the attempt back from the network's counter,
 * so that people of one network do not lock each other out.
 */
export function forgetAttempts(unit: UnitContext, counters: readonly Counter[]): void {
  for (const counter of counters) {
    const tally = loadTally(unit, counter);
    const times = counter.kind === 'network' ? tally.times.slice(0, -1) : [];
    if (times.length === 0) deleteAttempts(unit.db, counter.key);
    else saveTally(unit, counter, { ...tally, times });
  }
}

/** Returns the present lock, on the first call since the key was locked; null on later ones and without a lock. */
export function takeUnreportedLock(
  unit: UnitContext,
  counters: readonly Counter[],
): { readonly factor: 'password' | 'second_factor'; readonly untilMs: number } | null {
  for (const counter of counters) {
    const tally = loadTally(unit, counter);
    if (tally.locks === 0 || tally.lockTold) continue;
    saveTally(unit, counter, { ...tally, lockTold: true });
    const factor = counter.kind.startsWith('second_factor') ? 'second_factor' : 'password';
    return { factor, untilMs: tally.lockedUntilMs };
  }
  return null;
}

const NOTHING: AttemptRow = { times: [], locks: 0, lockedUntilMs: 0, lockTold: false, expiresAtMs: 0 };

function waitOf(rule: Rule, tally: AttemptRow, nowMs: number): number {
  const lockMs = Math.max(0, tally.lockedUntilMs - nowMs);
  const counting = countingTimes(rule, tally, nowMs);
  const oldest = counting.at(-rule.attemptsMax);
  return oldest === undefined ? lockMs : Math.max(lockMs, oldest + rule.spanMs - nowMs);
}

/** Returns the tally with one more attempt. The attempt that reaches the limit locks it, before it is judged. */
function advance(rule: Rule, tally: AttemptRow, nowMs: number): AttemptRow {
  const times = [...countingTimes(rule, tally, nowMs), nowMs];
  const isReached = times.length >= rule.attemptsMax || (rule.locks === 'from_then_on' && tally.locks > 0);
  if (rule.locks === 'never' || !isReached)
    return { ...tally, times, expiresAtMs: Math.max(tally.expiresAtMs, nowMs + rule.spanMs) };
  const lockMs = Math.min(LOCK_FIRST_MS * 2 ** tally.locks, LOCK_MAX_MS);
  return {
    times: [],
    locks: tally.locks + 1,
    lockedUntilMs: nowMs + lockMs,
    lockTold: false,
    expiresAtMs: nowMs + LOCK_MEMORY_MS,
  };
}

function countingTimes(rule: Rule, tally: AttemptRow, nowMs: number): readonly number[] {
  return tally.times.filter((atMs) => atMs > nowMs - rule.spanMs);
}

function makeCounter(kind: Counter['kind'], ...of: readonly string[]): Counter {
  return { kind, key: `${kind}:${hashToken(JSON.stringify(of))}` };
}

function loadTally(unit: UnitContext, counter: Counter): AttemptRow {
  const row = loadAttempts(unit.db, counter.key);
  return row && row.expiresAtMs > unit.now() ? row : NOTHING;
}

function saveTally(unit: UnitContext, { key }: Counter, tally: AttemptRow): void {
  saveAttempts(unit.db, { key, ...tally });
}

/** Of 16 bits, in an IPv6 address and in its network. */
const GROUPS = 8;
const NETWORK_GROUPS = 4;

/**
 * Returns the address itself for IPv4, and the /64 for IPv6: one subscriber has at least that many addresses (RFC
 * 6177), and could use another every time. An IPv4-mapped address (RFC 4291, section 2.5.5.2) is the IPv4 address. A
 * text that is no address stands for itself too.
 */
export function networkOf(address: string): string {
  const plain = address.trim().toLowerCase().replace(/%.*$/, '');
  const groups = plain.includes(':') ? parseGroups(plain) : null;
  if (groups === null) return plain;
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) return dottedQuad(groups);
  return `${groups
    .slice(0, NETWORK_GROUPS)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

function parseGroups(address: string): number[] | null {
  const halves = withoutQuad(address).split('::');
  if (halves.length > 2) return null;
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = GROUPS - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null;
  const groups = [...head, ...Array<string>(missing).fill('0'), ...tail];
  return groups.every((group) => /^[0-9a-f]{1,4}$/.test(group))
    ? groups.map((group) => Number.parseInt(group, 16))
    : null;
}

/** Returns the address with the last two groups in hexadecimal, if they were written as IPv4. */
function withoutQuad(address: string): string {
  return address.replace(/(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/, (_, ...quad: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = quad.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
}

function dottedQuad(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
