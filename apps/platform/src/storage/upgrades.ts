/**
 * The version of the program that wrote a data directory. A start refuses data of a newer version, and copies the platform's
 * own databases before it migrates them; `npm start -- go-back` lays such a copy down.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openAsBlob,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { identityDirectory } from '@freehold/auth';
import { directoryUnit } from '@freehold/directory';
import { lockDataDirectory, openNodeEngine } from '@freehold/engine-node';
import { ledgerUnit, makeVaultUnit } from '@freehold/kernel';
import { makeKeyring, type UnitDefinition } from '@freehold/store';
import { openArchive } from '../settings/archive-settings.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';
import { hasDirectoryDatabase } from './installation.ts';
import { platformUnit } from './platform-unit.ts';
import { writePrivately } from './secrets.ts';

export const GO_BACK_USAGE = 'npm start -- go-back COPY';

/** The version of this program. */
export const PROGRAM_VERSION: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version;

/** The file of a data directory that says which version wrote it, and with which migrations. */
const RECORD = 'written-by';
const COPIES = 'before-upgrades';
const COPIES_MAX = 3;

// biome-ignore lint/suspicious/noExplicitAny: the units of the spine differ in their methods.
type SpineUnit = UnitDefinition<any>;

/** The units that every application needs. Their migrations are read here, so that no key is needed. */
const SPINE: readonly SpineUnit[] = [
  directoryUnit,
  platformUnit,
  identityDirectory,
  ledgerUnit,
  makeVaultUnit(makeKeyring(['of a keyring that seals nothing here'])),
];
/** A copy of a vault could bring an erased person back, which its unit forbids. */
const COPIED = SPINE.filter(({ copies = 'full' }) => copies === 'full');
/** There is one of each, so that a start can look into both. */
const SINGLE = [directoryUnit.kind, platformUnit.kind];

interface Program {
  readonly version: string;
  /** Labels of the migrations that it knows: `directory: reap 4`. */
  readonly migrations: readonly string[];
}

const labelsOf = (units: readonly SpineUnit[]): string[] =>
  units.flatMap(({ kind, migrations }) =>
    migrations.flatMap((set) => set.migrations.map(({ version }) => `${kind}: ${set.name} ${version}`)),
  );

const thisProgram = (): Program => ({ version: PROGRAM_VERSION, migrations: labelsOf(SPINE) });

/**
 * Refuses data of a newer program; otherwise, before a newer program than the last one migrates anything, copies the databases
 * of the platform and notes the program. Returns the path of the copy, or null where none was needed.
 * @throws SettingsError for data of a newer program; nothing was changed. PlatformError when the directory is in use. The
 * system's error when no copy can be made; then nothing was migrated.
 */
export function prepareUpgrade(
  dataDirectory: string,
  now: () => number,
  program = thisProgram(),
): string | null {
  if (!hasDirectoryDatabase(dataDirectory)) return null;
  const record = readRecord(dataDirectory);
  const applied = SINGLE.flatMap((kind) => journalOf(dataDirectory, kind));
  const known = new Set(program.migrations);
  const unknown = [...applied, ...(record?.migrations ?? [])].find((label) => !known.has(label));
  if (unknown !== undefined) throw tooNew(dataDirectory, { record, unknown, program });
  const before = new Set(record?.migrations ?? [...applied, ...program.migrations.filter(isOfMany)]);
  if (program.migrations.every((label) => before.has(label))) return null;
  const unlock = lockDataDirectory(dataDirectory);
  try {
    const copy = copySpine(dataDirectory, { now, version: record?.version ?? 'unknown' });
    writeRecord(dataDirectory, program);
    return copy;
  } finally {
    unlock();
  }
}

/** Notes the program of a start that is complete. */
export function noteProgram(dataDirectory: string, program = thisProgram()): void {
  const path = join(dataDirectory, RECORD);
  if (!existsSync(path) || readFileSync(path, 'utf8') !== textOf(program))
    writeRecord(dataDirectory, program);
}

/** Removes a reaped tenant's databases from the copies. */
export function forgetInCopies(dataDirectory: string, tenant: string): void {
  for (const name of copiesOf(dataDirectory))
    rmSync(join(dataDirectory, COPIES, name, identityDirectory.kind, `${tenant}.sqlite`), { force: true });
}

/** Whether a start cannot look into all units of the migration's kind. */
function isOfMany(label: string): boolean {
  return !SINGLE.some((kind) => label.startsWith(`${kind}: `));
}

function tooNew(
  dataDirectory: string,
  {
    record,
    unknown,
    program,
  }: { readonly record: Program | null; readonly unknown: string; readonly program: Program },
): SettingsError {
  const newest = copiesOf(dataDirectory).at(-1);
  const back =
    newest === undefined
      ? 'restore a backup that was made before the upgrade'
      : `lay down the copy that was made before the upgrade (npm start -- go-back ${newest})`;
  return new SettingsError(
    `The data directory ${dataDirectory} was written by a newer version of Freehold${record === null ? '' : ` (${record.version})`} than this one (${program.version}), which does not know the migration "${unknown}"; nothing was changed: start the newer version, or ${back}, as docs/operator.md, "Upgrade", says.`,
  );
}

function textOf(program: Program): string {
  return `${JSON.stringify(program)}\n`;
}

function writeRecord(directory: string, program: Program): void {
  writePrivately(join(directory, RECORD), textOf(program));
}

/** A record that cannot be read is none: the journals of the databases decide. */
function readRecord(directory: string): Program | null {
  try {
    const found = JSON.parse(readFileSync(join(directory, RECORD), 'utf8')) as Partial<Program>;
    const { version, migrations } = found;
    return typeof version === 'string' && Array.isArray(migrations) ? { version, migrations } : null;
  } catch {
    return null;
  }
}

/** The migrations of the single database of a kind. Of one that is missing or damaged none: its opening reports that. */
function journalOf(dataDirectory: string, kind: string): string[] {
  const path = join(dataDirectory, kind, 'main.sqlite');
  // Beside a closed database a reader would leave an empty log, which this start may not change.
  const isClosed = !existsSync(`${path}-wal`);
  const hasIndex = existsSync(`${path}-shm`);
  const url = pathToFileURL(path);
  if (isClosed) url.searchParams.set('immutable', '1');
  try {
    const database = new DatabaseSync(url, { readOnly: true });
    try {
      const rows = database
        .prepare(`SELECT ? || ': ' || "set" || ' ' || version AS label FROM _spine_migrations`)
        .all(kind) as { label: string }[];
      return rows.map(({ label }) => label);
    } finally {
      database.close();
      if (!hasIndex) rmSync(`${path}-shm`, { force: true });
    }
  } catch {
    return [];
  }
}

/** Names of the copies, the newest last. */
function copiesOf(dataDirectory: string): string[] {
  const directory = join(dataDirectory, COPIES);
  return existsSync(directory)
    ? readdirSync(directory)
        .filter((name) => !name.startsWith('.'))
        .toSorted()
    : [];
}

function copySpine(
  dataDirectory: string,
  { now, version }: { readonly now: () => number; readonly version: string },
): string {
  const copies = join(dataDirectory, COPIES);
  const name = `${stampOf(now())}-of-${version.replaceAll(/[^a-zA-Z0-9.-]/g, '_')}`;
  const staged = join(copies, '.unfinished');
  rmSync(staged, { recursive: true, force: true });
  mkdirSync(staged, { recursive: true, mode: 0o700 });
  for (const { kind } of COPIED) {
    mkdirSync(join(staged, kind), { mode: 0o700 });
    for (const file of databasesIn(join(dataDirectory, kind)))
      copyDatabase(join(dataDirectory, kind, file), join(staged, kind, file));
  }
  const record = join(dataDirectory, RECORD);
  if (existsSync(record)) copyFileSync(record, join(staged, RECORD));
  const path = join(copies, name);
  rmSync(path, { recursive: true, force: true });
  renameSync(staged, path);
  synchronise(copies);
  for (const old of copiesOf(dataDirectory).slice(0, -COPIES_MAX))
    rmSync(join(copies, old), { recursive: true });
  return path;
}

/** Copies a database that no process has open. One that is damaged is copied as it is, with its log. */
function copyDatabase(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_FICLONE);
  if (existsSync(`${from}-wal`)) copyFileSync(`${from}-wal`, `${to}-wal`, constants.COPYFILE_FICLONE);
  try {
    const database = new DatabaseSync(to);
    try {
      database.exec('PRAGMA journal_mode = DELETE');
    } finally {
      database.close();
    }
  } catch (error) {
    if ((error as { errcode?: unknown }).errcode === undefined) throw error;
  }
  synchronise(to);
  synchronise(dirname(to));
}

function synchronise(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function databasesIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith('.sqlite')) : [];
}

function stampOf(atMs: number): string {
  return new Date(atMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

/**
 * Lays down a copy that was made before an upgrade, with the version that the copy is of. The present databases are put
 * aside; histories and archives go on from the copy. It may be repeated. Returns the lines to show the operator.
 * @throws SettingsError or PlatformError, with one sentence.
 */
export async function goBack(
  args: readonly string[],
  { archive, dataDirectory, historyMs }: Pick<Settings, 'archive' | 'dataDirectory' | 'historyMs'>,
  now = Date.now,
  program = thisProgram(),
): Promise<readonly string[]> {
  const [name = '', ...more] = args;
  const copy = join(dataDirectory, COPIES, name);
  if (more.length > 0 || !copiesOf(dataDirectory).includes(name))
    throw new SettingsError(
      `Name a copy: ${GO_BACK_USAGE}. ${dataDirectory} has ${copiesOf(dataDirectory).join(', ') || 'none'}.`,
    );
  requireWayBack(dataDirectory, copy, program);
  const aside = join(dataDirectory, `put-aside-${stampOf(now())}`);
  const engine = openNodeEngine({
    dataDirectory,
    historyMs,
    onIncident: () => undefined,
    ...(archive === null ? {} : { archive: { archive: openArchive(archive) } }),
  });
  try {
    for (const unit of COPIED)
      for (const file of databasesIn(join(copy, unit.kind))) {
        putAside(join(dataDirectory, unit.kind), join(aside, unit.kind), file);
        const body = (await openAsBlob(join(copy, unit.kind, file))).stream();
        await engine
          .tools(unit, file.slice(0, -'.sqlite'.length))
          .restore('sqlite', body, undefined, undefined, { evenIfLost: true });
      }
  } finally {
    await engine.close();
  }
  // Last: until then a start of this version refuses, and this is repeated.
  writeRecord(dataDirectory, readRecord(copy) ?? program);
  return [
    `The platform's databases are those of ${copy}; those of the newer version are in ${aside}. Instances that were used since the upgrade need their backups, and the admin log's witness is ahead of it: docs/operator.md, "Upgrade".`,
  ];
}

/** @throws SettingsError when this version could not read the copy, or what no copy has. */
function requireWayBack(dataDirectory: string, copy: string, program: Program): void {
  const known = new Set(program.migrations);
  const uncopied = SPINE.filter((unit) => !COPIED.includes(unit)).map(({ kind }) => `${kind}: `);
  const present = readRecord(dataDirectory)?.migrations ?? [];
  const lasting = present.find(
    (label) => !known.has(label) && uncopied.some((kind) => label.startsWith(kind)),
  );
  if (lasting !== undefined)
    throw new SettingsError(
      `There is no way back to version ${program.version}: the newer one has the migration "${lasting}", and such databases have no copies. Nothing was changed. Start the newer version.`,
    );
  const { version = 'unknown', migrations = [] } = readRecord(copy) ?? {};
  if (migrations.some((label) => !known.has(label)))
    throw new SettingsError(
      `The copy ${copy} is of version ${version}, which is newer than this one (${program.version}). Nothing was changed. Run the command with version ${version}.`,
    );
}

/** Moves a database and its log; its history stays, and goes on. */
function putAside(from: string, to: string, file: string): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const end of ['', '-wal', '-shm'])
    if (existsSync(join(from, `${file}${end}`)))
      renameSync(join(from, `${file}${end}`), join(to, `${file}${end}`));
}
