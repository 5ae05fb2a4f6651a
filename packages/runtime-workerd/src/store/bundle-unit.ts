/**
 * The deployed bundles of one vertical: a unit, so that they are durable, archived and restored as everything else is. A
 * module is kept once, by the SHA-256 of its bytes; a bundle is a list of modules; a script names the bundle of a version.
 */
import { createHash } from 'node:crypto';
import type { AppLook } from '@freehold/app';
import { PlatformError, type VerticalManifest } from '@freehold/contracts';
import { defineUnit, type SqlDatabase, type UnitDefinition, type UnitStub } from '@freehold/store';
import type { Isolate } from '../lib/bundle.ts';

/** One file of a version. */
export interface ModuleName {
  readonly name: string;
  readonly mediaType: string;
  /** SHA-256 of its bytes, hexadecimal. */
  readonly digest: string;
}

export interface ScriptRow {
  readonly script: string;
  readonly version: string;
  /** The digest of its bundle. */
  readonly bundle: string;
  /** The paths of its public surface, which no limit of the platform counts. */
  readonly publicPaths: readonly string[];
  /** The hosts that it declares to call. */
  readonly egress: readonly string[];
  /** The columns with personal data that it declares, by table. */
  readonly personal: Readonly<Record<string, readonly string[]>>;
  readonly isolate: Isolate;
  /** Null for one that was uploaded before this was noted, and for one whose upload is not done. */
  readonly declared: DeclaredSignIn | null;
}

/** The files that only one version had. */
export interface FreedFiles {
  readonly files: number;
  readonly bytes: number;
}

/** The parts of a bundle's declaration on which the sign-in of its version depends. */
export interface DeclaredSignIn {
  readonly manifest: Pick<VerticalManifest, 'slug' | 'env'>;
  readonly letsPeopleIn: boolean;
  readonly look: AppLook;
}

type BundleMethods = {
  /** The digests of all that are here. */
  modules(input: Record<never, never>): string[];
  /** Keeps one module. @throws PlatformError `validation_failed` where its bytes are not those of the digest. */
  putModule(input: { readonly digest: string; readonly bytes: Uint8Array }): null;
  /** Makes a bundle of modules that are here, and names it. The same script again replaces what it names. */
  putScript(input: {
    readonly script: string;
    readonly version: string;
    readonly modules: readonly ModuleName[];
    readonly publicPaths: readonly string[];
    readonly egress: readonly string[];
    readonly personal: ScriptRow['personal'];
    readonly isolate: Isolate;
    readonly declared: DeclaredSignIn | null;
  }): ScriptRow;
  script(input: { readonly script: string }): ScriptRow | null;
  scripts(input: Record<never, never>): ScriptRow[];
  /** The files of a bundle. Null for one that is not here. */
  bundle(input: { readonly digest: string }): readonly (ModuleName & { readonly bytes: Uint8Array })[] | null;
  /** The bytes of one file of a bundle; null for one that is not here. */
  file(input: { readonly bundle: string; readonly name: string }): Uint8Array | null;
  /** Makes a script the one that serves. @throws PlatformError `not_found`. */
  serve(input: { readonly script: string }): ScriptRow;
  serving(input: Record<never, never>): ScriptRow | null;
  /** Lets none serve. */
  withdraw(input: Record<never, never>): null;
  /** The modules that no other script names. */
  freedBy(input: { readonly script: string }): FreedFiles;
  /** Forgets a script, and the modules that no other names. @throws PlatformError `conflict` for the one that serves. */
  forget(input: { readonly script: string }): FreedFiles;
};

export type BundleUnit = UnitDefinition<BundleMethods>;
export type BundleCalls = UnitStub<BundleMethods>;

/** The unit: kind `bundles`, keyed by the slug of the vertical. */
export const bundleUnit: BundleUnit = defineUnit<BundleMethods>({
  kind: 'bundles',
  migrations: [
    {
      name: 'bundles',
      migrations: [
        {
          version: 1,
          name: 'modules and scripts',
          sql: `
  CREATE TABLE modules (digest TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
  CREATE TABLE bundle_files (
    bundle TEXT NOT NULL, name TEXT NOT NULL, media_type TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (bundle, name)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE scripts (
    script TEXT PRIMARY KEY, version TEXT NOT NULL, bundle TEXT NOT NULL, public_paths TEXT NOT NULL,
    egress TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE serving (one INTEGER PRIMARY KEY CHECK (one = 1), script TEXT NOT NULL) STRICT;
  CREATE INDEX bundle_files_digest ON bundle_files (digest);
  CREATE INDEX scripts_bundle ON scripts (bundle);`,
        },
        {
          version: 2,
          name: 'what the sign-in of a version depends on',
          sql: 'ALTER TABLE scripts ADD COLUMN declared TEXT',
        },
        {
          version: 3,
          name: 'columns with personal data',
          sql: "ALTER TABLE scripts ADD COLUMN personal TEXT NOT NULL DEFAULT '{}'",
        },
        {
          version: 4,
          name: 'the isolates of a version',
          sql: "ALTER TABLE scripts ADD COLUMN isolate TEXT NOT NULL DEFAULT 'vertical'",
        },
      ],
    },
  ],
  queries: ['modules', 'script', 'scripts', 'bundle', 'file', 'serving', 'freedBy'],
  open: ({ db }) => ({
    modules: () =>
      db.all<{ digest: string }>('SELECT digest FROM modules ORDER BY digest').map(({ digest }) => digest),
    putModule: ({ digest, bytes }) => {
      if (digestOf(bytes) !== digest)
        throw new PlatformError('validation_failed', 'A file of the upload is not what its digest says.', {
          reason: 'digest_mismatch',
        });
      db.run('INSERT INTO modules (digest, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING', digest, bytes);
      return null;
    },
    putScript: ({ script, version, modules, publicPaths, egress, personal, isolate, declared }) => {
      const bundle = bundleDigest(modules);
      for (const { name, mediaType, digest } of modules) {
        if (!db.get('SELECT 1 AS found FROM modules WHERE digest = ?', digest)) throw missingModule(name);
        db.run(
          'INSERT INTO bundle_files (bundle, name, media_type, digest) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
          ...[bundle, name, mediaType, digest],
        );
      }
      db.run(
        `INSERT INTO scripts (${SCRIPT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (script) DO UPDATE SET version = excluded.version, bundle = excluded.bundle,
             public_paths = excluded.public_paths, egress = excluded.egress, personal = excluded.personal,
             isolate = excluded.isolate, declared = excluded.declared`,
        ...[script, version, bundle, JSON.stringify(publicPaths), JSON.stringify(egress)],
        JSON.stringify(personal),
        isolate,
        declared && JSON.stringify(declared),
      );
      return requireScript(db, script);
    },
    script: ({ script }) => findScript(db, script),
    scripts: () => db.all<RawScript>(`SELECT ${SCRIPT_COLUMNS} FROM scripts ORDER BY script`).map(scriptOf),
    bundle: ({ digest }) => {
      const files = db.all<{ name: string; mediaType: string; digest: string; bytes: Uint8Array }>(
        `SELECT f.name, f.media_type AS mediaType, f.digest, m.bytes FROM bundle_files f
           JOIN modules m ON m.digest = f.digest WHERE f.bundle = ? ORDER BY f.name`,
        digest,
      );
      for (const file of files) if (digestOf(file.bytes) !== file.digest) throw damagedModule(file.name);
      return files.length === 0 ? null : files;
    },
    file: ({ bundle, name }) =>
      db.get<{ bytes: Uint8Array }>(
        `SELECT m.bytes FROM bundle_files f JOIN modules m ON m.digest = f.digest
           WHERE f.bundle = ? AND f.name = ?`,
        ...[bundle, name],
      )?.bytes ?? null,
    serve: ({ script }) => {
      const row = requireScript(db, script);
      db.run(
        'INSERT INTO serving (one, script) VALUES (1, ?) ON CONFLICT DO UPDATE SET script = excluded.script',
        script,
      );
      return row;
    },
    withdraw: () => {
      db.run('DELETE FROM serving');
      return null;
    },
    serving: () => {
      const found = db.get<{ script: string }>('SELECT script FROM serving');
      return found ? findScript(db, found.script) : null;
    },
    freedBy: ({ script }) => freedBy(db, script),
    forget: ({ script }) => {
      if (db.get('SELECT 1 AS found FROM serving WHERE script = ?', script))
        throw new PlatformError('conflict', 'This version serves.', { reason: 'version_in_use' });
      const freed = freedBy(db, script);
      db.run('DELETE FROM scripts WHERE script = ?', script);
      db.run('DELETE FROM bundle_files WHERE bundle NOT IN (SELECT bundle FROM scripts)');
      db.run('DELETE FROM modules WHERE digest NOT IN (SELECT digest FROM bundle_files)');
      return freed;
    },
  }),
});

function freedBy(db: SqlDatabase, script: string): FreedFiles {
  const freed = db.get<FreedFiles>(
    `SELECT count(*) AS files, coalesce(sum(length(m.bytes)), 0) AS bytes FROM modules m
       WHERE m.digest IN (SELECT f.digest FROM scripts s JOIN bundle_files f ON f.bundle = s.bundle WHERE s.script = ?1)
         AND m.digest NOT IN (SELECT f.digest FROM scripts s JOIN bundle_files f ON f.bundle = s.bundle WHERE s.script <> ?1)`,
    script,
  );
  return freed as FreedFiles;
}

/** SHA-256, hexadecimal. */
export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The digest of a bundle: of the names, types and digests of its files, whatever their order. */
function bundleDigest(modules: readonly ModuleName[]): string {
  const files = modules.map(({ name, mediaType, digest }) => [name, mediaType, digest]);
  files.sort(([one = ''], [other = '']) => (one < other ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(files)).digest('hex');
}

interface RawScript {
  readonly script: string;
  readonly version: string;
  readonly bundle: string;
  readonly public_paths: string;
  readonly egress: string;
  readonly personal: string;
  readonly isolate: Isolate;
  readonly declared: string | null;
}

const SCRIPT_COLUMNS = 'script, version, bundle, public_paths, egress, personal, isolate, declared';

function scriptOf({ public_paths, egress, personal, declared, ...row }: RawScript): ScriptRow {
  const listOf = (text: string) => JSON.parse(text) as readonly string[];
  return {
    ...row,
    publicPaths: listOf(public_paths),
    egress: listOf(egress),
    personal: JSON.parse(personal) as ScriptRow['personal'],
    declared: declared === null ? null : (JSON.parse(declared) as DeclaredSignIn),
  };
}

function findScript(db: SqlDatabase, script: string): ScriptRow | null {
  const row = db.get<RawScript>(`SELECT ${SCRIPT_COLUMNS} FROM scripts WHERE script = ?`, script);
  return row ? scriptOf(row) : null;
}

function requireScript(db: SqlDatabase, script: string): ScriptRow {
  const row = findScript(db, script);
  if (row) return row;
  throw new PlatformError('not_found', 'There is no such version here. Deploy it again.', {
    reason: 'unknown_script',
  });
}

function missingModule(name: string): PlatformError {
  return new PlatformError('validation_failed', `The file ${name} was neither sent nor is it here.`, {
    reason: 'module_missing',
  });
}

function damagedModule(name: string): PlatformError {
  return new PlatformError(
    'unavailable',
    `The file ${name} of this version is damaged. Deploy the version again.`,
    {
      reason: 'bundle_damaged',
    },
  );
}
