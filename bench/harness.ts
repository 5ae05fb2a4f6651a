/** Measures ours against a peer in turns, in one run, so that the ratio does not depend on the machine. */
import { measure } from 'mitata';

export interface Comparison {
  readonly name: string;
  /** One call of ours. */
  readonly ours: () => unknown;
  readonly peer: () => unknown;
  /** The peer in a few words. */
  readonly against: string;
  /** The pieces of work in one call: a batch of 64 does 64. Default 1. */
  readonly batch?: number;
}

/** A comparison of work that needs preparation each time: each side measures itself and returns pieces a second. */
export interface Rounds {
  readonly name: string;
  readonly ours: () => Promise<number>;
  readonly peer: () => Promise<number>;
  readonly against: string;
  /** The name of a piece: `MB`. */
  readonly unit?: string;
  /** Default 5. */
  readonly rounds?: number;
}

export interface Row {
  readonly name: string;
  readonly against: string;
  /** Pieces of work a second. */
  readonly ours: number;
  readonly peer: number | null;
  /** Ours over the peer's: 0.6 means 60 % of its speed. */
  readonly ratio: number | null;
  readonly target: string;
  readonly met: boolean;
  /** The two numbers as text, where they are not pieces a second. */
  readonly shown?: readonly [ours: string, peer: string];
}

const ROUNDS = 5;
/** The warm-up of each side: code that runs for the first time is not compiled yet. */
const WARM_UP_MS = 1_500;

/** Compares two pieces of work after a warm-up. The ratio must be at least `atLeast`. */
export async function compare(comparison: Comparison, atLeast: number): Promise<Row> {
  const { name, against, batch = 1 } = comparison;
  await warmUp(comparison.ours);
  await warmUp(comparison.peer);
  return compareRounds(
    {
      name,
      against,
      ours: () => perSecond(comparison.ours, batch),
      peer: () => perSecond(comparison.peer, batch),
    },
    atLeast,
  );
}

async function warmUp(work: () => unknown): Promise<void> {
  const untilMs = performance.now() + WARM_UP_MS;
  while (performance.now() < untilMs) await work();
}

/** Compares two sides that measure themselves, in turns. The ratio must be at least `atLeast`. */
export async function compareRounds(comparison: Rounds, atLeast: number): Promise<Row> {
  const { name, against, unit, rounds = ROUNDS } = comparison;
  const ours: number[] = [];
  const peer: number[] = [];
  for (let round = 0; round < rounds; round++) {
    ours.push(await comparison.ours());
    peer.push(await comparison.peer());
  }
  const ratio = median(ours.map((value, round) => value / (peer[round] as number)));
  const show = (value: number) => `${rounded(value)} ${unit}/s`;
  return {
    name,
    against,
    ours: median(ours),
    peer: median(peer),
    ratio,
    target: `at least ${atLeast}×`,
    met: ratio >= atLeast,
    ...(unit === undefined ? {} : { shown: [show(median(ours)), show(median(peer))] as const }),
  };
}

/** Measures work against a limit in milliseconds. */
export async function within(name: string, limitMs: number, work: () => unknown): Promise<Row> {
  return atMostMs({ name, ms: 1_000 / (await perSecond(work, 1)), limitMs });
}

/** Compares a measured time with a limit in milliseconds. */
export function atMostMs({
  name,
  ms,
  limitMs,
  against = '',
}: {
  readonly name: string;
  readonly ms: number;
  readonly limitMs: number;
  /** A remark about the number. */
  readonly against?: string;
}): Row {
  return {
    name,
    against,
    ours: 1_000 / ms,
    peer: null,
    ratio: null,
    target: `under ${limitMs} ms`,
    met: ms < limitMs,
  };
}

/** Compares a measured size with a limit in megabytes (10^6 bytes). */
export function atMostMegabytes({
  name,
  megabytes,
  limit,
  against = '',
}: {
  readonly name: string;
  readonly megabytes: number;
  readonly limit: number;
  readonly against?: string;
}): Row {
  return {
    name,
    against,
    ours: megabytes,
    peer: null,
    ratio: null,
    target: `under ${limit} MB`,
    met: megabytes < limit,
    shown: [`${megabytes.toFixed(megabytes < 10 ? 2 : 0)} MB`, ''],
  };
}

/** Prints the table. */
export function printTable(rows: readonly Row[]): void {
  const cells = rows.map((row) => [
    row.name,
    ...(row.shown ?? [
      `${rounded(row.ours)}/s`,
      row.peer === null ? `${(1_000 / row.ours).toFixed(2)} ms each` : `${rounded(row.peer)}/s`,
    ]),
    row.against,
    row.ratio === null ? '' : `${row.ratio.toFixed(2)}×`,
    row.target,
    row.met ? 'met' : 'NOT MET',
  ]);
  const table = [['what', 'ours', 'peer', 'against', 'ratio', 'target', ''], ...cells];
  const widths =
    table[0]?.map((_, column) => Math.max(...table.map((row) => (row[column] as string).length))) ?? [];
  for (const row of table)
    console.log(row.map((cell, column) => cell.padEnd(widths[column] as number)).join('  '));
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

/** Returns how often work can be done in a second, by the median of its repetitions. */
export async function perSecond(work: () => unknown, batch = 1): Promise<number> {
  const { p50 } = await measure(work, { min_cpu_time: 200_000_000, warmup_samples: 5 });
  return (batch * 1e9) / p50;
}

function rounded(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1);
}
