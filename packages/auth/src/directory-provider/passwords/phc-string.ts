/**
 * Stored password hashes as PHC strings (https://github.com/P-H-C/phc-string-format): which function, at which cost,
 * with which salt. A stored hash may be an import from elsewhere, so every number in it has an upper bound: a sign-in
 * must not take ten gigabytes.
 */

/** Argon2id (RFC 9106): memory in KiB, passes over it, lanes. */
export interface Argon2Cost {
  readonly kind: 'argon2id';
  readonly memoryKib: number;
  readonly passes: number;
  readonly lanes: number;
}

/** Scrypt (RFC 7914): N = 2^logN, block size r, parallelism p. Memory is 128·N·r bytes. */
export interface ScryptCost {
  readonly kind: 'scrypt';
  readonly logN: number;
  readonly blockSize: number;
  readonly parallelism: number;
}

export type HashCost = Argon2Cost | ScryptCost;

export interface PasswordRecord {
  readonly cost: HashCost;
  readonly salt: Uint8Array;
  readonly hash: Uint8Array;
}

/** The cost of new hashes (OWASP Password Storage Cheat Sheet). */
export const ARGON2ID_COST: Argon2Cost = { kind: 'argon2id', memoryKib: 19_456, passes: 2, lanes: 1 };
/** 32 MiB three times over: OWASP's setting for little memory. A worker has 128 MiB in all. */
export const SCRYPT_COST: ScryptCost = { kind: 'scrypt', logN: 15, blockSize: 8, parallelism: 3 };

/** 128 MiB: the most that OWASP's recommended settings of either function ask for. */
const MEMORY_KIB_MAX = 128 * 1024;
/** Memory times passes: some four seconds on a slow machine. */
const WORK_KIB_MAX = 4 * MEMORY_KIB_MAX;
const LANES_MAX = 16;
const SALT_BYTES = { min: 8, max: 64 };
const HASH_BYTES = { min: 16, max: 64 };

const ARGON2ID =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;
const SCRYPT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

export function formatPhc({ cost, salt, hash }: PasswordRecord): string {
  const head =
    cost.kind === 'argon2id'
      ? `$argon2id$v=19$m=${cost.memoryKib},t=${cost.passes},p=${cost.lanes}`
      : `$scrypt$ln=${cost.logN},r=${cost.blockSize},p=${cost.parallelism}`;
  return `${head}$${toBase64(salt)}$${toBase64(hash)}`;
}

/** Parses a stored hash; null when it is of another function, malformed, or too dear. */
export function parsePhc(text: string): PasswordRecord | null {
  const argon2id = ARGON2ID.exec(text);
  const match = argon2id ?? SCRYPT.exec(text);
  if (!match) return null;
  const [first, second, third] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const cost: HashCost = argon2id
    ? { kind: 'argon2id', memoryKib: first, passes: second, lanes: third }
    : { kind: 'scrypt', logN: first, blockSize: second, parallelism: third };
  const salt = fromBase64(match[4] ?? '');
  const hash = fromBase64(match[5] ?? '');
  if (!salt || !hash || !isWithin(salt.length, SALT_BYTES) || !isWithin(hash.length, HASH_BYTES)) return null;
  return isAffordable(cost) ? { cost, salt, hash } : null;
}

/** Whether two costs are the same, so that a hash need not be replaced. */
export function isSameCost(left: HashCost, right: HashCost): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/**
 * Whether a hash takes about as long as one of ours: half to twice as much memory times passes as that of the same
 * function. OWASP's other settings are all within it.
 */
export function isOrdinaryCost(cost: HashCost): boolean {
  const share = workKibOf(cost) / workKibOf(cost.kind === 'argon2id' ? ARGON2ID_COST : SCRYPT_COST);
  return share >= 0.5 && share <= 2;
}

/** Returns the memory of scrypt, in bytes (RFC 7914, section 5): the vectors, and their blocks. */
export function scryptBytesOf({ logN, blockSize, parallelism }: ScryptCost): number {
  return 128 * blockSize * (2 ** logN + parallelism + 2);
}

function workKibOf(cost: HashCost): number {
  return memoryKibOf(cost) * (cost.kind === 'argon2id' ? cost.passes : cost.parallelism);
}

function memoryKibOf(cost: HashCost): number {
  return cost.kind === 'argon2id' ? cost.memoryKib : (2 ** cost.logN * cost.blockSize * 128) / 1024;
}

function isAffordable(cost: HashCost): boolean {
  const [passes, lanes] =
    cost.kind === 'argon2id' ? [cost.passes, cost.lanes] : [cost.parallelism, cost.blockSize];
  if (passes < 1 || lanes < 1 || lanes > LANES_MAX) return false;
  // RFC 9106, section 3.1: at least eight blocks for each lane. RFC 7914, section 2: N is more than 1 and less than
  // 2^(128 * r / 8).
  if (cost.kind === 'argon2id' ? cost.memoryKib < 8 * cost.lanes : !isWithin(cost.logN, nOf(cost)))
    return false;
  return memoryKibOf(cost) <= MEMORY_KIB_MAX && workKibOf(cost) <= WORK_KIB_MAX;
}

function nOf({ blockSize }: ScryptCost) {
  return { min: 1, max: 16 * blockSize - 1 };
}

function isWithin(length: number, { min, max }: { min: number; max: number }): boolean {
  return length >= min && length <= max;
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/=+$/, '');
}

function fromBase64(text: string): Uint8Array | null {
  if (text.length > 2 * HASH_BYTES.max || text.length % 4 === 1) return null;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
