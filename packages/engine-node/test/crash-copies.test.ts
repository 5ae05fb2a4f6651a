/** A process that is killed at any moment, also while it rewinds or restores, leaves the old state or the new one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { runs } from '../../testkit/src/index.ts';
import { openNodeEngine } from '../src/index.ts';
import { historyUnit } from './history-unit.ts';

const CHILD = join(import.meta.dirname, 'crash-child.ts');
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? runs(30, 8));
const SEED = Number(process.env.CRASH_SEED ?? 1);

/** The output of the process before it died. */
interface Said {
  /** The last state that it saw. */
  readonly is: string;
  /** The state that it was about to make. */
  readonly willBe: string | null;
  readonly seen: ReadonlyMap<string, string>;
}

test(`${ROUNDS} kills leave the old state or the new one, and every bookmark`, {
  timeout: 60_000 + ROUNDS * 10_000,
}, async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-crash-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true, force: true }));
  const states = new Map<string, string>();
  const outcomes = { old: 0, new: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const said = await killOne(dataDirectory, SEED * 1_000 + round, 5 + ((SEED + round * 37) % 200));
    for (const [bookmark, contents] of said.seen) states.set(bookmark, contents);

    const incidents: unknown[] = [];
    const engine = openNodeEngine({ dataDirectory, onIncident: (error) => void incidents.push(error) });
    const unit = engine.unit(historyUnit, 'a');
    const contents = await unit.contents();
    expect([said.is, said.willBe], `round ${round}`).toContain(contents);
    if (contents !== said.is) outcomes.new += 1;
    else if (said.willBe !== null) outcomes.old += 1;

    const tools = engine.tools(historyUnit, 'a');
    const listed = new Set((await tools.bookmarks({ limit: 100_000 })).items.map(({ bookmark }) => bookmark));
    expect([...states.keys()].filter((bookmark) => !listed.has(bookmark))).toEqual([]);
    const [bookmark, then] = [...states][(round * 7_919) % states.size] as [string, string];
    const { undo } = await tools.rewind({ bookmark });
    expect(await unit.contents()).toBe(then);
    await tools.rewind({ bookmark: undo });
    expect(await unit.contents()).toBe(contents);
    await engine.close();
    expect(incidents).toEqual([]);
    expect(readdirSync(join(dataDirectory, 'scope-history')).sort()).toEqual(['a.history', 'a.sqlite']);
    const database = new DatabaseSync(join(dataDirectory, 'scope-history', 'a.sqlite'), { readOnly: true });
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    database.close();
  }
  // Kills that never hit a change would prove nothing.
  expect(outcomes.old + outcomes.new).toBeGreaterThan(0);
});

async function killOne(dataDirectory: string, seed: number, afterMs: number): Promise<Said> {
  const child = spawn(process.execPath, [CHILD, dataDirectory, String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const seen = new Map<string, string>();
  let is = '';
  let willBe: string | null = null;
  let isAlive = false;
  for await (const line of createInterface({ input: child.stdout })) {
    const [what, ...rest] = JSON.parse(line) as string[];
    if (what === 'will be') willBe = rest[0] as string;
    else {
      is = rest[1] as string;
      willBe = null;
      seen.set(rest[0] as string, is);
    }
    // The machine decides when it begins to work; the test decides the moment of the kill from then on.
    if (!isAlive) setTimeout(() => child.kill('SIGKILL'), afterMs);
    isAlive = true;
  }
  const [, signal] = await exited;
  expect(signal).toBe('SIGKILL');
  return { is, willBe, seen };
}
