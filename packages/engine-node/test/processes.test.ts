/** A data directory as other processes see it, and the remains of a process that was killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { openNodeEngine } from '../src/index.ts';
import { ledgerUnit } from './ledger-unit.ts';

const CHILD = join(import.meta.dirname, 'child.ts');

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'freehold-processes-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

function start(directory: string, task: 'hold' | 'hammer'): ChildProcess {
  const child = spawn(process.execPath, [CHILD, directory, task], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Reads so many whole lines, kills the process, and returns every line that it had printed by then. */
async function readLinesThenKill(child: ChildProcess, lines: number): Promise<string[]> {
  const read: string[] = [];
  if (!child.stdout) throw new Error('the child has no output');
  for await (const line of createInterface({ input: child.stdout })) {
    read.push(line);
    if (read.length === lines) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
  return read;
}

const onIncident = (error: unknown): never => {
  throw error;
};

test('a second process on one data directory is refused with a reason, until the first is gone', async () => {
  const dataDirectory = newDirectory();
  const child = start(dataDirectory, 'hold');
  if (!child.stdout) throw new Error('the child has no output');
  await once(child.stdout, 'data');
  expect(() => openNodeEngine({ dataDirectory, onIncident })).toThrow(
    expect.objectContaining({
      code: 'unavailable',
      reason: 'data_directory_in_use',
      message: `The data directory ${dataDirectory} is in use by another process. Stop that one first, or choose another with FREEHOLD_DATA.`,
    }),
  );
  child.kill('SIGKILL');
  await once(child, 'exit');
  await openNodeEngine({ dataDirectory, onIncident }).close();
});

test('a process that is killed while it writes has kept every call that it acknowledged', async () => {
  const dataDirectory = newDirectory();
  let acknowledged: number[] = [];
  for (let round = 0; round < 3; round++) {
    const lines = await readLinesThenKill(start(dataDirectory, 'hammer'), 150);
    acknowledged = acknowledged.concat(lines.map(Number));
    const engine = openNodeEngine({ dataDirectory, onIncident });
    const stored = new Set(await engine.unit(ledgerUnit, 'hammered').ids());
    await engine.close();
    expect(acknowledged.length).toBeGreaterThanOrEqual(150 * (round + 1));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  }
  expect(new Set(acknowledged).size).toBe(acknowledged.length);
});

test('files and folders are for their owner alone, whatever the umask and the folder that was there', async () => {
  const dataDirectory = newDirectory();
  chmodSync(dataDirectory, 0o777);
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  const openToOthers = () =>
    ['.', ...readdirSync(dataDirectory, { recursive: true, encoding: 'utf8' })].filter(
      (path) => statSync(join(dataDirectory, path)).mode & 0o077,
    );
  const write = async (looksAt: () => void): Promise<void> => {
    const engine = openNodeEngine({ dataDirectory, onIncident });
    await engine.unit(ledgerUnit, 'a', { create: true }).add();
    looksAt();
    await engine.close();
    looksAt();
  };
  await write(() => expect(openToOthers()).toEqual([]));
  // An installation of before.
  for (const path of readdirSync(dataDirectory, { recursive: true, encoding: 'utf8' }))
    if (path.endsWith('.sqlite')) chmodSync(join(dataDirectory, path), 0o644);
  await write(() => expect(openToOthers()).toEqual([]));
});
