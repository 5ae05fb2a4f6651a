/**
 * Damaged databases of instances. workerd says of one only that something failed inside, so that the platform looks into the
 * file itself, and puts it aside for the copy that takes its place.
 */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listObjects, objectIdOf, objectsIn } from './object-files.ts';

/** The longest look into a database. One that takes longer is not known to be damaged. */
const LOOK_MAX_MS = 60_000;

/** Says `damaged` of a database that SQLite cannot read whole. Its tables are a bundle's: a process of its own reads them. */
const LOOK = `
import { DatabaseSync } from 'node:sqlite';
const CORRUPT = 11, NOT_A_DATABASE = 26;
try {
  const database = new DatabaseSync(process.argv[1], { readOnly: true });
  database.exec('PRAGMA trusted_schema = OFF');
  const [first] = database.prepare('PRAGMA quick_check(1)').all();
  if (first.quick_check !== 'ok') process.stdout.write('damaged');
} catch (error) {
  if ([CORRUPT, NOT_A_DATABASE].includes(error.errcode & 255)) process.stdout.write('damaged');
}`;

/** Whether a database of an instance is damaged. @param folder that of its process. */
export async function isDamaged(folder: string, scope: string): Promise<boolean> {
  const object = objectIdOf(scope);
  const { databases = [] } = listObjects(folder).find((each) => each.object === object) ?? {};
  for (const name of databases) if (await looksDamaged(join(objectsIn(folder), name))) return true;
  return false;
}

/** Whether SQLite cannot read a database whole. */
export function looksDamaged(path: string): Promise<boolean> {
  const program = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', LOOK, path];
  return new Promise((resolve) => {
    execFile(process.execPath, program, { env: {}, timeout: LOOK_MAX_MS }, (_error, said) =>
      resolve(said === 'damaged'),
    );
  });
}

export interface PutAside {
  /** The name of the database now. */
  readonly name: string;
  /** A copy took its place. */
  done(): void;
  /** Puts everything back where it was. */
  undo(): void;
}

/** In the name of a file that was put aside; then comes when. */
const ASIDE = '.damaged-';
/** Ends the name of the note of files that were put aside, which is there until another database took their place. */
const NOTE = '.put-aside';

interface Note {
  readonly names: readonly string[];
  readonly stamp: string;
}

/**
 * Gives the files of an instance other names. No process of its vertical runs. A crash before `done` is undone by
 * {@link putBackUnfinished}. @param folder that of its process.
 */
export function putAside(folder: string, scope: string, nowMs: number): PutAside {
  const directory = objectsIn(folder);
  const object = objectIdOf(scope);
  const names = filesOf(directory, object);
  const stamp = `${ASIDE}${new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '')}`;
  const note = join(directory, object + NOTE);
  writeFileSync(`${note}-new`, JSON.stringify({ names, stamp } satisfies Note), { mode: 0o600, flush: true });
  renameSync(`${note}-new`, note);
  for (const name of names) renameSync(join(directory, name), join(directory, name + stamp));
  const database = names.find((name) => /\.\d+\.sqlite$/.test(name)) ?? names[0] ?? '';
  return {
    name: database + stamp,
    done: () => rmSync(note),
    undo: () => putBack(directory, object),
  };
}

/** Puts back what a crash left aside while a copy was to take its place. Call it at a start. @param folder that of a process. */
export function putBackUnfinished(folder: string): void {
  const directory = objectsIn(folder);
  if (!existsSync(directory)) return;
  for (const name of readdirSync(directory))
    if (name.endsWith(NOTE)) putBack(directory, name.slice(0, -NOTE.length));
}

function putBack(directory: string, object: string): void {
  const note = join(directory, object + NOTE);
  const { names, stamp } = JSON.parse(readFileSync(note, 'utf8')) as Note;
  // Those of the copy: SQLite would take its log for one of the file that comes back.
  for (const name of filesOf(directory, object)) if (!names.includes(name)) rmSync(join(directory, name));
  for (const name of names) {
    const aside = join(directory, name + stamp);
    if (existsSync(aside)) renameSync(aside, join(directory, name));
  }
  rmSync(note);
}

/** The files of an object, without those that were put aside. */
function filesOf(directory: string, object: string): string[] {
  return readdirSync(directory).filter(
    (name) => name.startsWith(`${object}.`) && !name.includes(ASIDE) && !name.includes(NOTE),
  );
}

/** Removes what was put aside of an instance: its data ends with it. @param folder that of its process. */
export function removeAside(folder: string, scope: string): void {
  const directory = objectsIn(folder);
  if (!existsSync(directory)) return;
  for (const name of readdirSync(directory))
    if (name.startsWith(`${objectIdOf(scope)}.`) && name.includes(ASIDE)) rmSync(join(directory, name));
}
