/**
 * A separate process over a data directory: `hold` keeps it open, `many` writes to 60 units twice, `hammer` writes
 * until it is killed.
 */
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
} else if (task === 'many') {
  let answered = 0;
  for (let call = 0; call < 120; call++) {
    await engine.unit(ledgerUnit, `unit-${call % 60}`, { create: true }).add();
    answered += 1;
  }
  await engine.close();
  say(`${answered} answered`);
} else {
  const ledger = engine.unit(ledgerUnit, 'hammered', { create: true });
  const write = async (): Promise<void> => {
    for (;;) say(String(await ledger.add({ bytes: 100 })));
  };
  await Promise.all([1, 2, 3, 4, 5].map(write));
}
