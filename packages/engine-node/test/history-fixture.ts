/** An engine over a directory of its own, with a clock that the test moves and a disk that it can break. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type NodeEngine, type NodeEngineOptions, openNodeEngine } from '../src/index.ts';
import { type HistoryDisk, historyDisk } from '../src/lib/durable-file.ts';
import { historyUnit } from './history-unit.ts';

export interface HistoryFixture {
  readonly engine: NodeEngine;
  readonly dataDirectory: string;
  readonly incidents: { readonly error: unknown; readonly method: string }[];
  readonly unit: ReturnType<typeof unitOf>;
  readonly tools: ReturnType<typeof toolsOf>;
  readonly clock: { nowMs: number };
  readonly disk: { fails: Error | null };
}

export function newPlace(): string {
  const directory = mkdtempSync(join(tmpdir(), 'freehold-history-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'data');
}

export function openHistory(
  dataDirectory = newPlace(),
  options: Partial<NodeEngineOptions> = {},
): HistoryFixture {
  const incidents: { error: unknown; method: string }[] = [];
  const clock = { nowMs: 1_800_000_000_000 };
  const disk: { fails: Error | null } = { fails: null };
  const engine = openNodeEngine({
    dataDirectory,
    now: () => clock.nowMs,
    onIncident: (error, { method }) => void incidents.push({ error, method }),
    historyDisk: breakable(disk),
    ...options,
  });
  onTestFinished(() => engine.close());
  return { engine, dataDirectory, incidents, unit: unitOf(engine), tools: toolsOf(engine), clock, disk };
}

/** Copies the disk at this moment, as a power cut would leave it. */
export function copyOf(dataDirectory: string): string {
  const copy = newPlace();
  cpSync(dataDirectory, copy, {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => !basename(path).startsWith('lock.sqlite'),
  });
  return copy;
}

export async function currentOf({ tools }: Pick<HistoryFixture, 'tools'>): Promise<string> {
  const { current } = await tools.bookmarks({ limit: 1 });
  expect(current).not.toBeNull();
  return current?.bookmark ?? '';
}

const unitOf = (engine: NodeEngine) => engine.unit(historyUnit, 'a', { create: true });
const toolsOf = (engine: NodeEngine) => engine.tools(historyUnit, 'a');

function breakable(state: { readonly fails: Error | null }): HistoryDisk {
  const requireWhole = (): void => {
    if (state.fails) throw state.fails;
  };
  return {
    stage: async (path, parts) => {
      requireWhole();
      await historyDisk.stage(path, parts);
      requireWhole();
    },
    stageSync: (path, parts) => {
      requireWhole();
      historyDisk.stageSync(path, parts);
    },
    rename: (staged, path) => {
      requireWhole();
      historyDisk.rename(staged, path);
    },
    syncNames: async (directory) => {
      requireWhole();
      await historyDisk.syncNames(directory);
    },
    syncNamesSync: (directory) => {
      requireWhole();
      historyDisk.syncNamesSync(directory);
    },
  };
}
