/** Device codes (RFC 8628): a program without a browser shows a short code, and a member types it into a browser. */
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { hashSecret } from '../access/secret.ts';
import { type IssuedStaffToken, issueToken, randomText } from './codes.ts';
import { isAdmitted } from './policy-store.ts';

/** The life of the two codes. */
export const DEVICE_TTL_MS = 10 * 60 * 1000;
/** The first interval between two polls of a program. */
export const DEVICE_INTERVAL_MS = 5_000;
/** The increase after each early poll (section 3.5). */
const SLOW_DOWN_MS = 5_000;
/** A punctual poll may arrive this much early. */
const JITTER_MS = 500;
/** Codes that wait for one source: far more than the people of one network begin in ten minutes. */
export const SOURCE_PENDING_MAX = 50;
/** Codes that wait for all sources of unknown address together. */
export const UNKNOWN_PENDING_MAX = 1_000;
/** Codes that wait for all sources together: the bound of the table. */
export const PENDING_MAX = 5_000;
/**
 * Unknown codes that a member may type in {@link MISS_WINDOW_MS}, over all sessions and addresses. A code has 20^8 forms
 * (34.6 bits) and at most {@link PENDING_MAX} wait: ten tries hit one with a probability of one in half a million (RFC 8628,
 * section 5.1). A hit lets another person's program act for the guesser.
 */
const MISSES_MAX = 10;
const MISS_WINDOW_MS = 10 * 60 * 1000;

/** No vowels, so that no words come up, and no letter that looks like a digit (section 6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const LETTERS_COUNT = 8;
const DEVICE_BYTES = 32;

export interface StartedDevice {
  readonly deviceCode: string;
  /** `WDJB-MJHT` */
  readonly userCode: string;
  readonly expiresInMs: number;
  readonly intervalMs: number;
}

export interface DeviceOrder {
  readonly client: string;
  /**
   * The network that asks: an IPv4 address, or of IPv6 the /48, the most that one site is given (RFC 6177). With a narrower
   * range one site would be thousands of sources. Null: unknown.
   */
  readonly source: string | null;
}

/**
 * Begins a device authorization. It never refuses one: otherwise an abuser who fills the table would keep all others out.
 * Instead the oldest pending code gives way: of the same source where that has too many, else of the source with the most.
 * So an abuser loses their own codes first, until they have as many sources as the table has rows (a /35 has 8,192). Against
 * that the endpoint limits all sources together (`oauth/device.ts` of the control plane).
 */
export function startDevice(context: UnitContext, { client, source }: DeviceOrder): StartedDevice {
  const { db } = context;
  const nowMs = context.now();
  // Kept for a while after their end, so that a late poll still gets the reason.
  db.run('DELETE FROM staff_devices WHERE expires_at <= ?', nowMs - DEVICE_TTL_MS);
  // Hashed, so that a copy of the directory is no list of addresses.
  const from = source === null ? null : hashSecret(source);
  makeRoom(db, { source: from, nowMs });
  const deviceCode = randomText(context, DEVICE_BYTES);
  let letters = randomLetters(context);
  while (db.get('SELECT 1 FROM staff_devices WHERE user_code_hash = ?', hashSecret(letters)))
    letters = randomLetters(context);
  db.run(
    `INSERT INTO staff_devices (hash, user_code_hash, client, state, member, interval_ms, polled_at, expires_at, source)
     VALUES (?, ?, ?, 'pending', NULL, ?, NULL, ?, ?)`,
    hashSecret(deviceCode),
    hashSecret(letters),
    client,
    DEVICE_INTERVAL_MS,
    nowMs + DEVICE_TTL_MS,
    from,
  );
  return {
    deviceCode,
    userCode: `${letters.slice(0, 4)}-${letters.slice(4)}`,
    expiresInMs: DEVICE_TTL_MS,
    intervalMs: DEVICE_INTERVAL_MS,
  };
}

interface Source {
  readonly source: string | null;
}

/** Deletes the oldest pending code where another would be one too many. */
function makeRoom(db: SqlDatabase, order: Source & { readonly nowMs: number }): void {
  const crowded = crowdedSource(db, order);
  if (crowded === null) return;
  db.run(
    `DELETE FROM staff_devices WHERE hash = (
       SELECT hash FROM staff_devices WHERE source IS ? AND ${WAITING} ORDER BY expires_at LIMIT 1)`,
    crowded.source,
    order.nowMs,
  );
}

const WAITING = "state = 'pending' AND expires_at > ?";

/** The source that has to make room for a code of this one; null while there is room. */
function crowdedSource(
  db: SqlDatabase,
  { source, nowMs }: Source & { readonly nowMs: number },
): Source | null {
  const own = db.get<Count>(
    `SELECT count(*) AS count FROM staff_devices WHERE source IS ? AND ${WAITING}`,
    source,
    nowMs,
  );
  const ownMax = source === null ? UNKNOWN_PENDING_MAX : SOURCE_PENDING_MAX;
  if ((own?.count ?? 0) >= ownMax) return { source };
  const all = db.get<Count>(`SELECT count(*) AS count FROM staff_devices WHERE ${WAITING}`, nowMs);
  if ((all?.count ?? 0) < PENDING_MAX) return null;
  const busiest = db.get<Source>(
    `SELECT source FROM staff_devices WHERE ${WAITING}
     GROUP BY source ORDER BY count(*) DESC, min(expires_at) LIMIT 1`,
    nowMs,
  );
  return busiest ?? null;
}

interface Count {
  readonly count: number;
}

/** A member looks up the program of a code, or answers it. */
export interface DeviceDecision {
  readonly member: string;
  /** As it was typed: capitals, hyphens and spaces do not matter. */
  readonly userCode: string;
  readonly decision: 'look' | 'approve' | 'deny';
}

export type DeviceLook =
  | { readonly client: string }
  | { readonly refused: 'unknown_code' }
  /** `retryAfterMs`: until the next try counts. */
  | { readonly refused: 'too_many_tries'; readonly retryAfterMs: number };

export function decideDevice(
  context: UnitContext,
  { member, userCode, decision }: DeviceDecision,
): DeviceLook {
  const { db } = context;
  const nowMs = context.now();
  // Rows from the future were written by a wrong clock and would keep the member waiting.
  db.run(
    'DELETE FROM staff_misses WHERE at <= ? OR at > ?',
    ...[nowMs - MISS_WINDOW_MS, nowMs + MISS_WINDOW_MS],
  );
  const missed = db.get<{ readonly count: number; readonly firstAtMs: number | null }>(
    'SELECT count(*) AS count, min(at) AS firstAtMs FROM staff_misses WHERE member = ?',
    member,
  );
  if (missed && missed.firstAtMs !== null && missed.count >= MISSES_MAX)
    return { refused: 'too_many_tries', retryAfterMs: missed.firstAtMs + MISS_WINDOW_MS - nowMs };
  const hash = hashSecret(userCode.toUpperCase().replaceAll(/[^A-Z]/g, ''));
  const found = db.get<{ client: string }>(
    "SELECT client FROM staff_devices WHERE user_code_hash = ? AND state = 'pending' AND expires_at > ?",
    hash,
    nowMs,
  );
  if (!found) {
    db.run('INSERT INTO staff_misses (member, at) VALUES (?, ?)', member, nowMs);
    return { refused: 'unknown_code' };
  }
  if (decision !== 'look')
    db.run(
      'UPDATE staff_devices SET state = ?, member = ? WHERE user_code_hash = ?',
      decision === 'approve' ? 'approved' : 'denied',
      member,
      hash,
    );
  return { client: found.client };
}

/** The errors of RFC 8628, section 3.5, and of RFC 6749, section 5.2. */
export type DeviceRefusal =
  | 'authorization_pending'
  | 'slow_down'
  | 'access_denied'
  | 'expired_token'
  | 'invalid_grant';

interface DeviceRow {
  readonly client: string;
  readonly state: 'pending' | 'approved' | 'denied';
  readonly member: string | null;
  readonly intervalMs: number;
  readonly polledAtMs: number | null;
  readonly expiresAtMs: number;
}

export interface DevicePoll {
  readonly deviceCode: string;
  readonly client: string;
  readonly requestId: string;
}

/** One poll. A code yields one token. */
export function pollDevice(
  context: UnitContext,
  poll: DevicePoll,
): { readonly issued: IssuedStaffToken } | { readonly refused: DeviceRefusal } {
  const { db } = context;
  const nowMs = context.now();
  const hash = hashSecret(poll.deviceCode);
  const row = db.get<DeviceRow>(
    `SELECT client, state, member, interval_ms AS intervalMs, polled_at AS polledAtMs, expires_at AS expiresAtMs
     FROM staff_devices WHERE hash = ?`,
    hash,
  );
  if (row?.client !== poll.client) return { refused: 'invalid_grant' };
  if (row.expiresAtMs <= nowMs) return { refused: 'expired_token' };
  if (row.state === 'pending') {
    const early = row.polledAtMs !== null && nowMs - row.polledAtMs < row.intervalMs - JITTER_MS;
    db.run(
      'UPDATE staff_devices SET polled_at = ?, interval_ms = ? WHERE hash = ?',
      nowMs,
      row.intervalMs + (early ? SLOW_DOWN_MS : 0),
      hash,
    );
    return { refused: early ? 'slow_down' : 'authorization_pending' };
  }
  db.run('DELETE FROM staff_devices WHERE hash = ?', hash);
  if (row.state === 'denied' || row.member === null || !isAdmitted(db, null))
    return { refused: 'access_denied' };
  const { member } = row;
  const { id: _, ...issued } = issueToken(context, { member, client: row.client, requestId: poll.requestId });
  return { issued };
}

function randomLetters(context: UnitContext): string {
  let letters = '';
  while (letters.length < LETTERS_COUNT) {
    for (const byte of context.random(LETTERS_COUNT)) {
      // 240 is twelve times twenty: bytes above it would favour the first letters.
      if (byte < 240 && letters.length < LETTERS_COUNT) letters += LETTERS.charAt(byte % LETTERS.length);
    }
  }
  return letters;
}
