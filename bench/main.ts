/** `npm run bench`: one table of ratios, each measured against its peer in this run. Exits with 1 when a target is missed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printTable } from './harness.ts';
import { benchHttp } from './http.ts';
import { benchIdentity } from './identity.ts';
import { benchKernel } from './kernel.ts';

const directory = mkdtempSync(join(tmpdir(), 'freehold-bench-'));
try {
  const rows = [
    ...(await benchKernel(directory)),
    ...(await benchHttp(directory)),
    ...(await benchIdentity(directory)),
  ];
  printTable(rows);
  process.exitCode = rows.every((row) => row.met) ? 0 : 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
