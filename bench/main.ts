/**
 * `npm run bench` prints one table of ratios, each measured against its peer in this run. Exits with 1 when a target
 * is missed. `npm run bench -- kernel scale` runs only these.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printTable, type Row } from './harness.ts';

/** Imported when they run, so that one can be measured without the others. */
const BENCHES: Readonly<Record<string, (directory: string) => Promise<Row[]>>> = {
  kernel: async (directory) => (await import('./kernel.ts')).benchKernel(directory),
  sealed: async (directory) => (await import('./sealed.ts')).benchSealed(directory),
  scale: async (directory) => (await import('./scale.ts')).benchScale(directory),
  records: async (directory) => (await import('./records.ts')).benchRecords(directory),
  transfer: async (directory) => (await import('./transfer.ts')).benchTransfer(directory),
  copies: async (directory) => (await import('./copies.ts')).benchCopies(directory),
  directory: async (directory) => (await import('./directory.ts')).benchDirectory(directory),
  http: async (directory) => (await import('./http.ts')).benchHttp(directory),
  host: async () => (await import('./host.ts')).benchHost(),
  dev: async (directory) => (await import('./dev.ts')).benchDev(directory),
  runtime: async (directory) => (await import('./runtime.ts')).benchRuntime(directory),
  telemetry: async (directory) => (await import('./telemetry.ts')).benchTelemetry(directory),
  app: async () => (await import('./app.ts')).benchApp(),
  identity: async (directory) => (await import('./identity.ts')).benchIdentity(directory),
};

const asked = process.argv.slice(2);
const unknown = asked.find((name) => !Object.hasOwn(BENCHES, name));
if (unknown !== undefined) {
  console.error(`there is no benchmark ${unknown}; there are ${Object.keys(BENCHES).join(', ')}`);
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), 'freehold-bench-'));
try {
  const rows: Row[] = [];
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    const own = join(directory, name);
    mkdirSync(own);
    rows.push(...(await bench(own)));
    rmSync(own, { recursive: true });
  }
  printTable(rows);
  process.exitCode = rows.every((row) => row.met) ? 0 : 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
