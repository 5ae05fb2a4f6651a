/** Device codes (RFC 8628): a program without a browser shows a short code, and a member types it in one that has one. */
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { hashSecret } from '../tokens/secret.ts';
import { type IssuedStaffToken, issueToken, randomText } from './codes.ts';

/** How long the two codes work. */
export const DEVICE_TTL_MS = 10 * 60 * 1000;
/** How long a program waits between two polls, at first. */
export const DEVICE_INTERVAL_MS = 5_000;
/** What each poll that came too early adds (section 3.5). */
const SLOW_DOWN_MS = 5_000;
/** A poll that was sent in time may arrive this much sooner after the one before. */
const JITTER_MS = 500;
/**
 * Codes that wait for one source: far more than one network of people begins in ten minutes, and all that an abuser has
 * of one network.
 */
export const SOURCE_PENDING_MAX = 50;
/** Codes that wait for everybody whose address nobody knows: they cannot be told apart. */
export const UNKNOWN_PENDING_MAX = 1_000;
/** Codes that wait for all sources together: what the table may grow to. */
export const PENDING_MAX = 5_000;
/**
 * A member may type this many codes that are none in {@link MISS_WINDOW_MS}, in all their sessions and from all their
 * addresses; who is no member types none. A code has 20^8 forms, which are 34.6 bits, and {@link PENDING_MAX} wait at
 * most: ten tries meet one of them with a probability of one in half a million (RFC 8628, section 5.1), and whoever
 * meets one has made somebody else's program act for themselves.
 */
const MISSES_MAX = 10;
const MISS_WINDOW_MS = 10 * 60 * 1000;

/** No vowels, so that no words come up, and nothing that looks like a digit (section 6.1). */
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
   * Who asks: an IPv4 address, or of IPv6 the /48, which is the most that one site is given (RFC 6177). Anything narrower
   * would be thousands of sources for one of them. Null: nobody knows.
   */
  readonly source: string | null;
}

/**
 * Begins a device authorization, and never refuses one: a refusal because too many wait would let anybody keep
 * everybody else out. The oldest code that nobody has decided on gives way instead: of the same source where that has
 * too many; and where all sources have too many together, of the source that has the most. So whoever fills the table
 * pushes out their own codes first, and somebody else's only once they have as many sources as the table has rows. That
 * many are within reach: a network that was given a /35 has 8,192 of them. How long a code is then left to whoever waits
 * for it, the limit of the endpoint for all sources together says (`device-limit.ts` of the control plane).
 */
export function startDevice(context: UnitContext, { client, source }: DeviceOrder): StartedDevice {
  const { db } = context;
  const nowMs = context.now();
  // A while after their end, so that a program that polls once more is told what happened.
  db.run('DELETE FROM staff_devices WHERE expires_at <= ?', nowMs - DEVICE_TTL_MS);
  // Its hash: a copy of the directory is no list of addresses.
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

/** Lets the oldest undecided code go, where one more would be one too many. */
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

/** Whose codes have to make room for one of this source; null while there is room. */
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

/** What a member does about a code: look which program it is of, or answer it. */
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
  // What a clock counted that was ahead by more than a window would keep the member waiting until time catches up.
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

/** One poll. A token comes of a code once. */
export function pollDevice(
  context: UnitContext,
  poll: { readonly deviceCode: string; readonly client: string; readonly requestId: string },
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
  if (row.state === 'denied' || row.member === null) return { refused: 'access_denied' };
  const { member } = row;
  const { id: _, ...issued } = issueToken(context, { member, client: row.client, requestId: poll.requestId });
  return { issued };
}

function randomLetters(context: UnitContext): string {
  let letters = '';
  while (letters.length < LETTERS_COUNT) {
    for (const byte of context.random(LETTERS_COUNT)) {
      // 240 is twelve times twenty: what lies above would favour the first letters.
      if (byte < 240 && letters.length < LETTERS_COUNT) letters += LETTERS.charAt(byte % LETTERS.length);
    }
  }
  return letters;
}
