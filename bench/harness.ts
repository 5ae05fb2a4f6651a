/** Measures ours against a peer in turns, in one run, so that only the ratio counts and not the machine. */
import { measure } from 'mitata';

export interface Comparison {
  readonly name: string;
  /** What one call of ours did. */
  readonly ours: () => unknown;
  readonly peer: () => unknown;
  /** What the peer is, in a few words. */
  readonly against: string;
  /** How many pieces of work one call does: a batch of 64 does 64. Default 1. */
  readonly batch?: number;
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
}

const ROUNDS = 5;

/** Compares two pieces of work. The ratio must be at least `atLeast`. */
export async function compare(comparison: Comparison, atLeast: number): Promise<Row> {
  const { name, against, batch = 1 } = comparison;
  const ours: number[] = [];
  const peer: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(await perSecond(comparison.ours, batch));
    peer.push(await perSecond(comparison.peer, batch));
  }
  const ratio = median(ours.map((value, round) => value / (peer[round] as number)));
  return {
    name,
    against,
    ours: median(ours),
    peer: median(peer),
    ratio,
    target: `at least ${atLeast}×`,
    met: ratio >= atLeast,
  };
}

/** Measures work against a limit in milliseconds. */
export async function within(name: string, limitMs: number, work: () => unknown): Promise<Row> {
  const speed = await perSecond(work, 1);
  return {
    name,
    against: '',
    ours: speed,
    peer: null,
    ratio: null,
    target: `under ${limitMs} ms`,
    met: 1_000 / speed < limitMs,
  };
}

/** Prints the one table. */
export function printTable(rows: readonly Row[]): void {
  const number = (value: number | null) =>
    value === null ? '' : value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1);
  const cells = rows.map((row) => [
    row.name,
    `${number(row.ours)}/s`,
    row.peer === null ? `${(1_000 / row.ours).toFixed(2)} ms each` : `${number(row.peer)}/s`,
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

async function perSecond(work: () => unknown, batch: number): Promise<number> {
  const { p50 } = await measure(work, { min_cpu_time: 200_000_000, warmup_samples: 5 });
  return (batch * 1e9) / p50;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}
