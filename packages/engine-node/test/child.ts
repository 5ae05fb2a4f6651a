/** A separate process over a data directory: `hold` keeps it open, `hammer` writes until it is killed. */
import { writeSync } from 'node:fs';
import { openNodeEngine } from '../src/index.ts';
import { ledgerUnit } from './ledger-unit.ts';

const [dataDirectory = '', task = 'hold'] = process.argv.slice(2);
const engine = openNodeEngine({
  dataDirectory,
  onIncident: (error) => {
    throw error;
  },
});
const say = (line: string): void => void writeSync(1, `${line}\n`);

if (task === 'hold') {
  say('open');
  setInterval(() => undefined, 1_000);
} else {
  const ledger = engine.unit(ledgerUnit, 'hammered', { create: true });
  const write = async (): Promise<void> => {
    for (;;) say(String(await ledger.add({ bytes: 100 })));
  };
  await Promise.all([1, 2, 3, 4, 5].map(write));
}
