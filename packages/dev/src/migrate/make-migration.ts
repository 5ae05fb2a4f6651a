/** `freehold migrate make`: the next migration, from the difference between what records declare and what is there. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Consent } from '@freehold/app/records';
import type { Migration } from '@freehold/store';
import { withLoaded } from '../build/load-project.ts';
import { DevError } from '../lib/dev-error.ts';
import { type Project, readProject, requireOneCopy } from '../project/project.ts';

export interface MigrationRequest {
  /** The name of the migration: its purpose in a few words. */
  readonly name: string;
  /** Columns whose values may be lost: `animals.fee`. */
  readonly drop: readonly string[];
  /** Renamed columns: `animals.fee=price`. */
  readonly rename: readonly string[];
  /** Columns of which values may be lost when their type changes: `animals.fee`. */
  readonly convert: readonly string[];
  /** The values of records that have none: `animals.fee=0`. */
  readonly fill: readonly string[];
  /** The file of the migrations, in which it is put; null leaves every file as it is. */
  readonly file: string | null;
}

export interface MadeMigration {
  readonly version: number;
  readonly name: string;
  /** The statements, each with whether it destroys values. Empty where nothing differs. */
  readonly steps: readonly { readonly sql: string; readonly isDestructive: boolean }[];
  /** The migration as it stands in `migrations.ts`. Empty where nothing differs. */
  readonly text: string;
  /** The file that has it now, relative to the project; null for none. */
  readonly file: string | null;
}

/**
 * Makes the next migration of the application in a folder. It alters no database.
 * @throws DevError for a folder without an application, for a difference that only the builder can judge, with every
 * question, and for a file that it cannot be put into.
 */
export async function makeMigration(folder: string, request: MigrationRequest): Promise<MadeMigration> {
  const project = readProject(folder);
  requireOneCopy(project);
  return withLoaded(project, async ({ app, records }) => {
    const types = records.recordTypesOf(app.operations);
    if (types.length === 0)
      throw new DevError(
        'validation_failed',
        'The application declares no records, so there is no table to compare: write the migration by hand, or declare records (docs/records.md).',
      );
    using database = migrated(app.migrations);
    const { steps, questions } = records.differenceOf(
      types.map(({ table }) => table),
      records.presentSchema((sql, ...params) => database.prepare(sql).all(...params)),
      consentOf(request),
    );
    if (questions.length > 0) throw new DevError('validation_failed', questions.join('\n'));
    const version = (app.migrations.at(-1)?.version ?? 0) + 1;
    const text = steps.length === 0 ? '' : records.migrationText(version, request.name, steps);
    const file = steps.length === 0 || request.file === null ? null : putInto(project, request.file, text);
    return { version, name: request.name, steps, text, file };
  });
}

function consentOf({ drop, rename, convert, fill }: MigrationRequest): Consent {
  return {
    drop: new Set(drop),
    rename: new Map(rename.map(renameOf)),
    convert: new Set(convert),
    fill: new Map(fill.map(fillOf)),
  };
}

/** `animals.fee=0` */
function fillOf(text: string): [string, string] {
  const [, column, value] = /^([a-z0-9_]+\.[a-z0-9_]+)=(.*)$/s.exec(text) ?? [];
  if (column !== undefined && value !== undefined) return [column, value];
  throw new DevError('validation_failed', `${text} fills no column: write table.column=value.`);
}

/** `animals.fee=price` */
function renameOf(text: string): [string, string] {
  const [, from, to] = /^([a-z0-9_]+\.[a-z0-9_]+)=([a-z0-9_]+)$/.exec(text) ?? [];
  if (from !== undefined && to !== undefined) return [from, to];
  throw new DevError('validation_failed', `${text} is no renaming: write table.old_column=new_column.`);
}

/** A database that has every migration. @throws DevError with the migration that fails. */
function migrated(migrations: readonly Migration[]): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  for (const { version, name, sql } of migrations)
    try {
      database.exec(sql);
    } catch (cause) {
      database.close();
      throw new DevError(
        'validation_failed',
        `Migration ${version} (${name}) fails in an empty database: ${(cause as Error).message}.`,
        { cause },
      );
    }
  return database;
}

/** Puts the migration at the end of the list that ends the file. */
function putInto({ root }: Project, file: string, text: string): string {
  const path = resolve(root, file);
  const shown = relative(root, path);
  let source: string;
  try {
    source = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new DevError('not_found', `${shown} cannot be read: name the file of the migrations with --file.`, {
      cause,
    });
  }
  const end = source.trimEnd();
  if (!end.endsWith('\n];'))
    throw new DevError(
      'validation_failed',
      `${shown} does not end with a list of migrations (];): make it without --write, and put it where it belongs.`,
    );
  const draft = `${path}.draft`;
  const whole = `${end.slice(0, -'];'.length)}${text}];\n`;
  writeFileSync(draft, withFills(whole, text), { flush: true });
  renameSync(draft, path);
  return shown;
}

/** The calls that a `fill` may have. */
const FILLS = ['fillWords', 'requireFilled'];

/** Adds the import of each call that a migration has and the file does not import. */
function withFills(source: string, text: string): string {
  const names = FILLS.filter(
    (name) => text.includes(`${name}(`) && !new RegExp(`^import [^;]*\\b${name}\\b`, 'm').test(source),
  );
  if (names.length === 0) return source;
  const at = /^import /m.exec(source)?.index ?? 0;
  return `${source.slice(0, at)}import { ${names.join(', ')} } from '@freehold/app';\n${source.slice(at)}`;
}
