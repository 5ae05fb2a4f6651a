/**
 * Checks whether a guesser can tell an unknown address from a wrong password, by the answer or by its time. Pairs are
 * timed in random order, so that the machine's other work falls on both; a remaining difference is the account's doing
 * or chance. A report and no test: a busy machine makes any difference.
 */
import { randomInt } from 'node:crypto';
import type { PasswordHasher } from '@freehold/auth';
import type { Row } from './harness.ts';
import { type Accounts, openAccounts, storedHash } from './identity-accounts.ts';

/** With the real hash, tens of milliseconds each. */
const PAIRS = 150;
/** Without it, where a difference of microseconds would show. */
const PAIRS_UNHASHED = 2_000;
/** The median difference that still counts as none, as a part of the median time. */
const DIFFERENCE_MAX = 0.05;

export async function benchGuesses(directory: string): Promise<Row[]> {
  const hashed = openAccounts(`${directory}/guesses`);
  await hashed.add('template@example.test');
  const phc = await storedHash(hashed, 'template@example.test');
  const whole = await timePairs(hashed, { pairs: PAIRS, phc });
  await hashed.close();

  const instant: PasswordHasher = {
    hash: async () => phc,
    verify: async () => ({ right: false, outdated: false, unreadable: false }),
  };
  const unhashed = openAccounts(`${directory}/guesses-unhashed`, instant);
  const rest = await timePairs(unhashed, { pairs: PAIRS_UNHASHED, phc });
  await unhashed.close();
  const wholeMs = median(whole.wrongMs);
  return [
    toRow('guess: no such account', whole, wholeMs),
    toRow('guess: the same but for the hash', rest, wholeMs),
  ];
}

interface Pairs {
  readonly unknownMs: readonly number[];
  readonly wrongMs: readonly number[];
}

async function timePairs(
  accounts: Accounts,
  { pairs, phc }: { readonly pairs: number; readonly phc: string },
): Promise<Pairs> {
  const unknownMs: number[] = [];
  const wrongMs: number[] = [];
  // Every guess is the first at its address, so that no limit on attempts answers it.
  for (let i = 0; i < pairs; i++) await accounts.add(addressOf('known', i), phc);
  for (let i = 0; i < pairs; i++) {
    const unknown = () => guess(accounts, addressOf('other', i));
    const wrong = () => guess(accounts, addressOf('known', i));
    const [first, second] = randomInt(2) === 0 ? [unknown, wrong] : [wrong, unknown];
    const [one, two] = [await first(), await second()];
    const [ofUnknown, ofWrong] = first === unknown ? [one, two] : [two, one];
    if (ofUnknown.answer !== ofWrong.answer) throw new Error('the answers tell the two apart');
    unknownMs.push(ofUnknown.ms);
    wrongMs.push(ofWrong.ms);
  }
  return { unknownMs, wrongMs };
}

function addressOf(name: 'known' | 'other', i: number): string {
  return `${name}-${String(i).padStart(6, '0')}@example.test`;
}

/** Returns the time of a wrong guess, and its answer without the address itself. */
async function guess(accounts: Accounts, email: string): Promise<{ ms: number; answer: string }> {
  const startedMs = performance.now();
  const response = await accounts.signIn(email, 'a wrong guess');
  const ms = performance.now() - startedMs;
  const text = (await response.text()).replaceAll(email, '');
  if (response.status >= 500 || response.headers.has('location'))
    throw new Error(`guessing ended with ${response.status}`);
  return { ms, answer: `${response.status} ${JSON.stringify([...response.headers])} ${text}` };
}

function toRow(name: string, { unknownMs, wrongMs }: Pairs, wholeMs: number): Row {
  const differences = unknownMs.map((ms, i) => ms - (wrongMs[i] as number));
  const differenceMs = median(differences);
  const part = Math.abs(differenceMs) / wholeMs;
  const met = part < DIFFERENCE_MAX;
  const chance = Math.max(0.01, signTest(differences)).toFixed(2);
  const said = `${(1_000 * differenceMs).toFixed(0)} µs, ${(100 * part).toFixed(2)} % of a sign-in, sign test p ${chance === '0.01' ? '≤' : '='} ${chance}`;
  return {
    name,
    against: `wrong password: median difference ${said}`,
    ours: 1_000 / median(unknownMs),
    peer: 1_000 / median(wrongMs),
    ratio: median(wrongMs) / median(unknownMs),
    target: `indistinguishable: ${met ? 'yes' : 'no'}`,
    met,
  };
}

/** Returns how likely such an uneven split of the signs is by chance: two-sided, by the normal approximation. */
function signTest(differences: readonly number[]): number {
  const positive = differences.filter((each) => each > 0).length;
  const deviation = Math.abs(positive - differences.length / 2) - 0.5;
  return erfc(Math.max(0, deviation) / Math.sqrt(differences.length / 2));
}

/** Abramowitz and Stegun 7.1.26, to seven digits. */
function erfc(x: number): number {
  const t = 1 / (1 + 0.3275911 * x);
  const polynomial =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return polynomial * Math.exp(-x * x);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}
