/** Device codes (RFC 8628): a program without a browser shows a short code, and a member types it in one that has one. */
import type { UnitContext } from '@freehold/store';
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
/** Codes that may wait at once: anybody can ask for one. */
const PENDING_MAX = 1_000;
/**
 * A member may type this many codes that are none in {@link MISS_WINDOW_MS}. Of 20^8 codes a thousand wait at most, so
 * that with ten tries one is met with a probability of one in two million (section 5.1).
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

/** Null when too many wait already. */
export function startDevice(
  context: UnitContext,
  { client }: { readonly client: string },
): StartedDevice | null {
  const { db } = context;
  const nowMs = context.now();
  // A while after their end, so that a program that polls once more is told what happened.
  db.run('DELETE FROM staff_devices WHERE expires_at <= ?', nowMs - DEVICE_TTL_MS);
  const waiting = db.get<{ count: number }>(
    'SELECT count(*) AS count FROM staff_devices WHERE expires_at > ?',
    nowMs,
  );
  if ((waiting?.count ?? 0) >= PENDING_MAX) return null;
  const deviceCode = randomText(context, DEVICE_BYTES);
  let letters = randomLetters(context);
  while (db.get('SELECT 1 FROM staff_devices WHERE user_code_hash = ?', hashSecret(letters)))
    letters = randomLetters(context);
  db.run(
    `INSERT INTO staff_devices (hash, user_code_hash, client, state, member, interval_ms, polled_at, expires_at)
     VALUES (?, ?, ?, 'pending', NULL, ?, NULL, ?)`,
    hashSecret(deviceCode),
    hashSecret(letters),
    client,
    DEVICE_INTERVAL_MS,
    nowMs + DEVICE_TTL_MS,
  );
  return {
    deviceCode,
    userCode: `${letters.slice(0, 4)}-${letters.slice(4)}`,
    expiresInMs: DEVICE_TTL_MS,
    intervalMs: DEVICE_INTERVAL_MS,
  };
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
  | { readonly refused: 'unknown_code' | 'too_many_tries' };

export function decideDevice(
  context: UnitContext,
  { member, userCode, decision }: DeviceDecision,
): DeviceLook {
  const { db } = context;
  const nowMs = context.now();
  db.run('DELETE FROM staff_misses WHERE at <= ?', nowMs - MISS_WINDOW_MS);
  const missed = db.get<{ count: number }>(
    'SELECT count(*) AS count FROM staff_misses WHERE member = ?',
    member,
  );
  if ((missed?.count ?? 0) >= MISSES_MAX) return { refused: 'too_many_tries' };
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
