/**
 * A process that changes one unit in every way, and prints its contents before and after each change, until it is
 * killed.
 */
import { writeSync } from 'node:fs';
import { openNodeEngine } from '../src/index.ts';
import { historyUnit } from './history-unit.ts';

const [dataDirectory = '', seed = '1'] = process.argv.slice(2);
const random = seeded(Number(seed));
const engine = openNodeEngine({
  dataDirectory,
  logFramesMax: 12,
  onIncident: (error) => {
    throw error;
  },
});
const unit = engine.unit(historyUnit, 'a', { create: true });
const tools = engine.tools(historyUnit, 'a');
await unit.count();
const say = (what: readonly unknown[]): void => void writeSync(1, `${JSON.stringify(what)}\n`);

/** The states seen in this process, by bookmark. */
const seen = new Map<string, string>();

async function report(): Promise<string> {
  const { current } = await tools.bookmarks({ limit: 1 });
  const contents = await unit.contents();
  seen.set(current?.bookmark ?? '', contents);
  say(['is', current?.bookmark, contents]);
  return contents;
}

for (let round = 0, contents = await report(); ; round++) {
  const dice = random();
  if (dice < 0.6) {
    const note = `r${round}`;
    say(['will be', withRow(contents, note)]);
    await unit.add({ note });
  } else if (dice < 0.7) {
    say([
      'will be',
      contents
        .split(' ')
        .filter((row) => Number.parseInt(row, 10) % 2 !== 0)
        .join(' '),
    ]);
    await unit.remove({ every: 2 });
  } else if (dice < 0.85) {
    const [bookmark, then] = [...seen][Math.floor(random() * seen.size)] as [string, string];
    say(['will be', then]);
    await tools.rewind({ bookmark });
  } else if (dice < 0.95) {
    const copy = await tools.export(dice < 0.9 ? 'sqlite' : 'ndjson');
    say(['will be', withRow(contents, 'x')]);
    await unit.add({ note: 'x' });
    await report();
    say(['will be', contents]);
    await tools.restore(copy.format, copy.body);
  } else await engine.sweepHistory(historyUnit, 'a');
  contents = await report();
}

function withRow(contents: string, note: string): string {
  const last = Number(/(\d+):[^ ]*$/.exec(contents)?.[1] ?? 0);
  return `${contents}${contents === '' ? '' : ' '}${last + 1}:${note}:0`;
}

/** Mulberry32: small, and the same everywhere. */
function seeded(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
