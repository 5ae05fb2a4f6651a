/** An engine with an archive that a test can break, and the steps of losing the one and restoring from the other. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  type Archive,
  type NodeEngine,
  type NodeEngineOptions,
  openNodeEngine,
  type RestoreOptions,
  restoreDataDirectory,
} from '../src/index.ts';

/** An archive in memory. While `fails` is set, every call rejects with it. */
export interface BreakableArchive extends Archive {
  readonly objects: Map<string, Uint8Array>;
  fails: Error | null;
}

export function breakableArchive(): BreakableArchive {
  const objects = new Map<string, Uint8Array>();
  const requireUp = async (): Promise<void> => {
    await Promise.resolve();
    if (archive.fails) throw archive.fails;
  };
  const archive: BreakableArchive = {
    objects,
    fails: null,
    put: async (key, bytes) => {
      await requireUp();
      objects.set(key, bytes.slice());
    },
    get: async (key) => {
      await requireUp();
      return objects.get(key) ?? null;
    },
    list: async function* list(prefix) {
      await requireUp();
      for (const key of [...objects.keys()]) if (key.startsWith(prefix)) yield key;
    },
    delete: async (key) => {
      await requireUp();
      objects.delete(key);
    },
  };
  return archive;
}

export function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'freehold-archive-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export interface Fixture {
  readonly engine: NodeEngine;
  readonly archive: BreakableArchive;
  readonly dataDirectory: string;
  readonly incidents: unknown[];
}

/** It ships on request, and otherwise hardly ever. */
export function openFixture(
  archive: BreakableArchive,
  dataDirectory = newDirectory(),
  more: Partial<NodeEngineOptions> & { readonly sealArchive?: (bytes: Uint8Array) => Uint8Array } = {},
): Fixture {
  const incidents: unknown[] = [];
  const { sealArchive, ...options } = more;
  const engine = openNodeEngine({
    dataDirectory,
    logFramesMax: 20,
    onIncident: (error) => void incidents.push(error),
    archive: { archive, intervalMs: 60_000, ...(sealArchive ? { sealArchive } : {}) },
    ...options,
  });
  onTestFinished(() => engine.close());
  return { engine, archive, dataDirectory, incidents };
}

/** Restores to a new disk, while the old one still runs. */
export async function restored(archive: Archive, more: Partial<RestoreOptions> = {}): Promise<string> {
  const into = join(newDirectory(), 'data');
  // The archive stays with the directory that ships to it, so that a test can restore more than once.
  await restoreDataDirectory({ archive: withoutOwner(archive), into, ...more });
  return into;
}

export function openPlain(dataDirectory: string): NodeEngine {
  const engine = openNodeEngine({
    dataDirectory,
    onIncident: (error) => {
      throw error;
    },
  });
  onTestFinished(() => engine.close());
  return engine;
}

function withoutOwner(archive: Archive): Archive {
  return {
    ...archive,
    put: async () => undefined,
    list: (prefix) => archive.list(prefix),
  };
}
