/** Files that are complete or absent, also after a power cut: they are synchronised before they get their name. */

import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes the history's files to disk. A test puts a failing disk in its place. */
export interface HistoryDisk {
  /** Writes a separate file and synchronises it. */
  stage(path: string, parts: readonly Uint8Array[]): Promise<void>;
  stageSync(path: string, parts: readonly Uint8Array[]): void;
  /** Gives a staged file its name; durable after {@link syncNames} of its directory. */
  rename(staged: string, path: string): void;
  syncNames(directory: string): Promise<void>;
  syncNamesSync(directory: string): void;
}

export const historyDisk: HistoryDisk = {
  stage: async (path, parts) => {
    const file = await open(path, 'wx', 0o600);
    try {
      for (const part of parts) await file.writeFile(part);
      await file.sync();
    } finally {
      await file.close();
    }
  },
  stageSync: (path, parts) => {
    const file = openSync(path, 'wx', 0o600);
    try {
      for (const part of parts) writeAll(file, part);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  },
  rename: (staged, path) => renameSync(staged, path),
  syncNames: async (path) => {
    const directory = await open(path, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  },
  syncNamesSync: (directory) => syncDirectory(directory),
};

/** Gives a staged file its name, durably. */
export function publish(staged: string, path: string, disk: HistoryDisk = historyDisk): void {
  disk.rename(staged, path);
  disk.syncNamesSync(dirname(path));
}

/** Writes a small file completely, replacing the one under its name. */
export function writeDurably(path: string, text: string): void {
  const staged = `${path}.new`;
  rmSync(staged, { force: true });
  historyDisk.stageSync(staged, [new TextEncoder().encode(text)]);
  publish(staged, path);
}

/** Makes the names in a directory durable: a power cut may undo a rename or a removal otherwise. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Makes a directory, and the missing ones above it, durably. */
export function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  mkdirSync(path, { mode: 0o700, recursive: true });
  syncDirectory(dirname(path));
}

/** Writes all bytes, in however many pieces the system takes them. */
export function writeAll(file: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; )
    written += writeSync(file, bytes, written, bytes.length - written);
}

const DIGEST_CHARACTERS = 64;

/** Returns a line of JSON after the SHA-256 of its text, so that damage to a file's description is noticed. */
export function checkedLine(value: unknown): string {
  const json = JSON.stringify(value);
  return `${sha256(json)} ${json}\n`;
}

/** Parses a line of {@link checkedLine}; returns null for any other line. */
export function parseCheckedLine<T>(line: string): T | null {
  const json = line.slice(DIGEST_CHARACTERS + 1, line.endsWith('\n') ? -1 : undefined);
  if (line[DIGEST_CHARACTERS] !== ' ' || line.slice(0, DIGEST_CHARACTERS) !== sha256(json)) return null;
  return JSON.parse(json) as T;
}

export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
