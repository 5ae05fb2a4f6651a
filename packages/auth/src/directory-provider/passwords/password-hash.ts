/**
 * Hashes passwords and compares them: argon2id where the runtime has it, scrypt elsewhere, and hashes of either kind
 * are understood wherever they can be (OWASP Password Storage Cheat Sheet; ASVS 5.0, 11.4.2).
 */
import * as crypto from 'node:crypto';
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
import { makeWorkQueue } from './work-queue.ts';

/** What comparing a password with a stored hash said. */
export interface PasswordVerdict {
  readonly right: boolean;
  /** The stored hash is not as one would be made today: replace it while the password is known. */
  readonly outdated: boolean;
  /** The stored hash is of a kind, or at a cost, that cannot be computed here. Never right. */
  readonly unreadable: boolean;
}

export interface PasswordWork {
  /** A fresh hash, as a PHC string. */
  hash(password: string): Promise<string>;
  /** Compares. `null` stands for an account that has none, or that does not exist: it costs the same, and is wrong. */
  verify(password: string, stored: string | null): Promise<PasswordVerdict>;
}

export interface PasswordHasher extends PasswordWork {
  /**
   * Runs work that hashes when it is its turn, and lets it hash as often as it must without waiting again. Who is sent
   * away is so before the work began: before an attempt was counted, and not between a comparison and the new hash.
   * Absent: everybody's turn is at once.
   */
  inTurn?<T>(work: (turn: PasswordWork) => Promise<T>): Promise<T>;
}

export interface PasswordHasherOptions {
  /** That many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  /** How many passwords are hashed at the same time. Default 4: each takes up to 128 MiB for its while. */
  readonly atOnceMax?: number;
  /** How many wait behind them; beyond that people are told to come back. Default 64. */
  readonly waitingMax?: number;
  /** Which function makes new hashes. Default: argon2id where the runtime has it, else scrypt. */
  readonly kind?: HashCost['kind'];
}

const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** Whether this runtime has argon2: Node does from 24.7 on, workerd does not. */
const HAS_ARGON2 = typeof crypto.argon2 === 'function';

/**
 * Makes a hasher. Make one for a whole process: its limit holds only for those who share it.
 * @throws (from every method) PlatformError `unavailable`, reason `busy`, when too many wait.
 */
export function makePasswordHasher(options: PasswordHasherOptions): PasswordHasher {
  const { random, atOnceMax = 4, waitingMax = 64, kind = HAS_ARGON2 ? 'argon2id' : 'scrypt' } = options;
  const present = kind === 'argon2id' ? ARGON2ID_COST : SCRYPT_COST;
  const run = makeWorkQueue({ atOnceMax, waitingMax });
  // Compared with when there is nothing to compare with. Nobody knows a password that gives 32 zero bytes.
  const noPrincipal: PasswordRecord = {
    cost: present,
    salt: new Uint8Array(SALT_BYTES),
    hash: new Uint8Array(HASH_BYTES),
  };

  const work: PasswordWork = {
    hash: async (password) => {
      const fresh: PasswordRecord = { ...noPrincipal, salt: random(SALT_BYTES) };
      return formatPhc({ ...fresh, hash: await derive(password, fresh) });
    },

    verify: async (password, stored) => {
      const record = stored === null ? null : parsePhc(stored);
      if (record !== null && canDerive(record.cost)) {
        const right = await compare(password, record).catch((error: unknown) => {
          // A failure to compute our own is one of this machine, and no wrong password.
          if (isSameCost(record.cost, present)) throw error;
          return null;
        });
        if (right !== null) return { right, outdated: !isPresent(record), unreadable: false };
      }
      await compare(password, noPrincipal);
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

/**
 * The key of a password. It is normalised first (NFKC), so that one typed on another keyboard is the same, and never
 * cut short.
 */
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
