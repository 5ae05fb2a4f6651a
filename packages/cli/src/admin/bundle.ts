/** Reads the manifest and the files of a deployment from this machine. */
import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname, extname, join, relative, resolve, sep } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import type { FormFile } from '@freehold/control-plane/client';
import { adminOperations, MODULES_MAX } from '@freehold/directory/declarations';
import { fileFailure, parseJson } from '../lib/world.ts';
import { bytesText } from '../output/progress.ts';

/** The names of a bundle, as they were typed. */
export interface BundleNames {
  readonly folder?: string | undefined;
  readonly manifest?: string | undefined;
  readonly modules: readonly string[];
}

export interface Bundle {
  /** Parsed JSON; the control plane judges it. */
  readonly manifest: unknown;
  readonly files: readonly FormFile[];
}

const MANIFEST = 'manifest.json';
const { input, form } = adminOperations['verticals.deploy'];
const MODULE_NAME = input.body.shape.modules.element.shape.name;

/** The media type that a runtime gets for a file, by its extension. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.js': 'application/javascript+module',
  '.mjs': 'application/javascript+module',
  '.cjs': 'application/javascript',
  '.wasm': 'application/wasm',
  '.json': 'application/json',
  '.map': 'application/source-map',
  '.html': 'text/html',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.md': 'text/plain',
  '.sql': 'text/plain',
};

/** A file that is to become a module. */
interface Candidate {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

/**
 * Reads a bundle. Checks number, names and sizes before it reads any content.
 * @throws PlatformError `validation_failed` for what is missing or cannot be a module, `payload_too_large` with the
 * limit, `unavailable` for a file that cannot be read.
 */
export function readBundle({ folder, manifest, modules }: BundleNames, cwd: string): Bundle {
  const root = folder === undefined ? null : resolve(cwd, folder);
  const manifestPath = manifestOf(root, folder, manifest, cwd);
  const candidates = [
    ...(root === null ? [] : filesBelow(root, manifestPath)),
    ...modules.map((typed) => namedModule(typed, { cwd, base: root ?? dirname(manifestPath) })),
  ];
  requireSendable(candidates);
  return {
    manifest: parseManifest(
      reading(manifestPath, (path) => readFileSync(path, 'utf8')),
      manifestPath,
    ),
    files: candidates.map(({ name, path }) => ({
      name,
      mediaType: MEDIA_TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream',
      content: new Uint8Array(reading(path, (file) => readFileSync(file))),
    })),
  };
}

function manifestOf(
  root: string | null,
  folder: string | undefined,
  named: string | undefined,
  cwd: string,
): string {
  // Other commands name a file as `@file`, so this one accepts it too.
  if (named !== undefined) return resolve(cwd, named.replace(/^@/, ''));
  if (root === null) throw unusable('--manifest is missing: name a folder, or a manifest and its modules.');
  const path = join(root, MANIFEST);
  // Reading the folder first gives an unreadable folder its own error.
  if (entriesOf(root).some(({ name }) => name === MANIFEST)) return path;
  throw unusable(`There is no ${MANIFEST} in ${folder}: put it there, or name it with --manifest.`);
}

/** Returns every file below a folder in the order of names, without the manifest and hidden files. */
function filesBelow(root: string, manifestPath: string): Candidate[] {
  const found: Candidate[] = [];
  const visit = (folder: string): void => {
    for (const { name: entry } of entriesOf(folder)) {
      const path = join(folder, entry);
      if (entry.startsWith('.') || path === manifestPath) continue;
      const about = statOf(path);
      if (about.isDirectory()) visit(path);
      else found.push({ name: relative(root, path).split(sep).join('/'), path, bytes: sizeOf(about, path) });
      // A wrong folder, such as a home directory, may have millions of files.
      if (found.length > MODULES_MAX) throw tooMany();
    }
  };
  visit(root);
  return found;
}

/** Returns the entries by name. Refuses links to folders: they can lead anywhere, also round in circles. */
function entriesOf(folder: string) {
  const entries = reading(folder, (path) => readdirSync(path, { withFileTypes: true }));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink() && statOf(path).isDirectory())
      throw unusable(`${path} is a link to a folder, which is not followed.`);
  }
  return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
}

/** Reads `dist/main.js`, which is named by its path from the folder or the manifest, or `main.js=dist/main.js`. */
function namedModule(
  typed: string,
  { cwd, base }: { readonly cwd: string; readonly base: string },
): Candidate {
  const mark = typed.indexOf('=');
  const path = resolve(cwd, typed.slice(mark + 1));
  const name = mark > 0 ? typed.slice(0, mark) : relative(base, path).split(sep).join('/');
  if (name.startsWith('../'))
    throw unusable(`${typed} does not lie below ${base}: give it a name, as in main.js=${typed}.`);
  return { name, path, bytes: sizeOf(statOf(path), path) };
}

function requireSendable(candidates: readonly Candidate[]): void {
  if (candidates.length === 0) throw unusable('There is no module: at least one file has to be deployed.');
  if (candidates.length > MODULES_MAX) throw tooMany();
  const names = new Set<string>();
  for (const { name, path } of candidates) {
    if (!MODULE_NAME.safeParse(name).success)
      throw unusable(
        `${path} cannot be a module: its name may have letters, digits, dots, dashes and underscores, and at most 200 characters.`,
      );
    if (names.has(name)) throw unusable(`Two files are to be the module ${name}.`);
    names.add(name);
  }
  const bytes = candidates.reduce((sum, each) => sum + each.bytes, 0);
  if (bytes > form.bytesMax)
    throw new PlatformError(
      'payload_too_large',
      `The files have ${bytesText(bytes)} together, and one deployment takes ${bytesText(form.bytesMax)} at most.`,
    );
}

function parseManifest(text: string, path: string): unknown {
  const manifest = parseJson(text);
  if (manifest === undefined) throw unusable(`${path} is no JSON, which a manifest has to be.`);
  return manifest;
}

function sizeOf(about: Stats, path: string): number {
  if (about.isFile()) return about.size;
  throw unusable(`${path} is no file.`);
}

const statOf = (path: string): Stats => reading(path, (file) => statSync(file));

/** Reads something of a path. @throws PlatformError `unavailable` when that fails. */
function reading<T>(path: string, read: (path: string) => T): T {
  try {
    return read(path);
  } catch (cause) {
    throw fileFailure(`${path} cannot be read`, cause);
  }
}

function tooMany(): PlatformError {
  return new PlatformError('payload_too_large', `One deployment takes ${MODULES_MAX} files at most.`);
}

function unusable(sentence: string): PlatformError {
  return new PlatformError('validation_failed', sentence);
}
