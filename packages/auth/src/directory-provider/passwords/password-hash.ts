/**
 * Hashes passwords and compares them: argon2id where the runtime has it, scrypt elsewhere, and hashes of either kind
 * are understood wherever they can be (OWASP Password Storage Cheat Sheet; ASVS 5.0, 11.4.2).
 */
import * as crypto from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import {
  ARGON2ID_COST,
  formatPhc,
  type HashCost,
  isSameCost,
  type PasswordRecord,
  parsePhc,
  SCRYPT_COST,
  scryptBytesOf,
} from './phc-string.ts';

/** The result of comparing a password with a stored hash. */
export interface PasswordVerdict {
  readonly right: boolean;
  /** A new hash would differ from the stored one: replace it while the password is known. */
  readonly outdated: boolean;
  /** The stored hash is of a kind, or at a cost, that cannot be computed here. Never right. */
  readonly unreadable: boolean;
}

export interface PasswordWork {
  /** Returns a fresh hash, as a PHC string. */
  hash(password: string): Promise<string>;
  /** Compares. `null`, of an account without a password or of none, costs the same, and is wrong. */
  verify(password: string, stored: string | null): Promise<PasswordVerdict>;
}

export interface PasswordHasher extends PasswordWork {
  /**
   * Runs work that hashes when it is its turn, and lets it hash as often as it must without waiting again. A caller is
   * turned away before the work begins: before an attempt is counted, and never between a comparison and the new hash.
   * Absent: all work runs at once.
   */
  inTurn?<T>(work: (turn: PasswordWork) => Promise<T>): Promise<T>;
}

export interface PasswordHasherOptions {
  readonly random: (bytes: number) => Uint8Array;
  /** The number of passwords that are hashed at the same time. Default 4: each takes up to 128 MiB. */
  readonly atOnceMax?: number;
  /** The number that wait behind them; further callers are told to come back. Default 64. */
  readonly waitingMax?: number;
  /** Which function makes new hashes. Default: argon2id where the runtime has it, else scrypt. */
  readonly kind?: HashCost['kind'];
}

const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** Whether this runtime has argon2: Node does from 24.7 on, workerd does not. */
const HAS_ARGON2 = typeof crypto.argon2 === 'function';

/**
 * Makes a hasher. Make one for a whole process: its limit holds only for callers that share it.
 * @throws (from every method) PlatformError `unavailable`, reason `busy`, when too many wait.
 */
export function makePasswordHasher(options: PasswordHasherOptions): PasswordHasher {
  const { random, atOnceMax = 4, waitingMax = 64, kind = HAS_ARGON2 ? 'argon2id' : 'scrypt' } = options;
  const present = kind === 'argon2id' ? ARGON2ID_COST : SCRYPT_COST;
  const run = makeWorkQueue({ atOnceMax, waitingMax });
  // Compared with when there is no hash. No password is known that gives 32 zero bytes.
  const noPassword: PasswordRecord = {
    cost: present,
    salt: new Uint8Array(SALT_BYTES),
    hash: new Uint8Array(HASH_BYTES),
  };

  const work: PasswordWork = {
    hash: async (password) => {
      const fresh: PasswordRecord = { ...noPassword, salt: random(SALT_BYTES) };
      return formatPhc({ ...fresh, hash: await derive(password, fresh) });
    },

    verify: async (password, stored) => {
      const record = stored === null ? null : parsePhc(stored);
      if (record !== null && canDerive(record.cost)) {
        const right = await compare(password, record).catch((error: unknown) => {
          // A failure to compute our own kind is this machine's, and no wrong password.
          if (isSameCost(record.cost, present)) throw error;
          return null;
        });
        if (right !== null) return { right, outdated: !isPresent(record), unreadable: false };
      }
      await compare(password, noPassword);
      return { right: false, outdated: false, unreadable: stored !== null };
    },
  };

  return {
    hash: (password) => run(() => work.hash(password)),
    verify: (password, stored) => run(() => work.verify(password, stored)),
    inTurn: (task) => run(() => task(work)),
  };

  function isPresent({ cost, salt, hash }: PasswordRecord): boolean {
    return isSameCost(cost, present) && salt.length === SALT_BYTES && hash.length === HASH_BYTES;
  }
}

async function compare(password: string, record: PasswordRecord): Promise<boolean> {
  return crypto.timingSafeEqual(await derive(password, record), record.hash);
}

function canDerive(cost: HashCost): boolean {
  return cost.kind === 'scrypt' || HAS_ARGON2;
}

/** Derives the key of a password, normalised first (NFKC), so that another keyboard types the same, and never cut. */
function derive(password: string, { cost, salt, hash }: PasswordRecord): Promise<Uint8Array> {
  const message = new TextEncoder().encode(password.normalize('NFKC'));
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, key: Uint8Array): void => (error ? reject(error) : resolve(key));
    if (cost.kind === 'scrypt') {
      const { logN, blockSize, parallelism } = cost;
      const maxmem = 2 * scryptBytesOf(cost);
      crypto.scrypt(message, salt, hash.length, { N: 2 ** logN, r: blockSize, p: parallelism, maxmem }, done);
      return;
    }
    const { memoryKib, passes, lanes } = cost;
    const parameters = { message, nonce: salt, memory: memoryKib, passes, parallelism: lanes };
    crypto.argon2('argon2id', { ...parameters, tagLength: hash.length }, done);
  });
}

/** When a caller that was turned away may come back, in seconds. */
const RETRY_AFTER_S = 5;

/**
 * Makes a queue, whose `run` returns the result of the work.
 * @throws (from `run`) PlatformError `unavailable`, reason `busy`, with `Retry-After`, when too many wait.
 */
export function makeWorkQueue({ atOnceMax, waitingMax }: { atOnceMax: number; waitingMax: number }) {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async function run<T>(work: () => Promise<T>): Promise<T> {
    if (running < atOnceMax) running += 1;
    else await turn();
    try {
      return await work();
    } finally {
      // The place goes straight to the next one, so that no newcomer takes it.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };

  function turn(): Promise<void> {
    if (waiting.length >= waitingMax)
      throw new PlatformError('unavailable', 'Too many people are signing in right now. Try again shortly.', {
        reason: 'busy',
        headers: { 'retry-after': String(RETRY_AFTER_S) },
      });
    return new Promise((resolve) => void waiting.push(resolve));
  }
}
