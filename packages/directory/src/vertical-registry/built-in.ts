/**
 * Verticals that are compiled into this platform. They are in the registry like any other, so that one lookup tells which
 * version serves. The platform registers, admits and promotes them itself when it starts.
 */
import { createHash } from 'node:crypto';
import { ID_PREFIXES, type VerticalManifest } from '@freehold/contracts';
import { type MigrationSet, migrationDigest, type UnitContext } from '@freehold/store';
import { type AuditedCall, appendAdminLog, logHead } from '../audit/admin-log.ts';
import type { LogHead } from '../declarations/records.ts';
import type { DeclaredMigration } from '../declarations/vertical-records.ts';
import { slugTaken, targetOf } from './operations.ts';
import { releaseOthers } from './scope-version.ts';
import { addVersion, contentHash } from './versions.ts';
import {
  loadContent,
  loadVersion,
  loadVersionByNumber,
  updateVersion,
  type VersionContent,
  type VersionRow,
} from './versions-store.ts';
import { insertVertical, loadVertical, updateVertical, type VerticalRow } from './verticals-store.ts';

export interface BuiltIn {
  readonly manifest: VerticalManifest;
  readonly migrations: readonly DeclaredMigration[];
  /** The hosts that it will call. Default: none. */
  readonly egress?: readonly string[];
  /** SHA-256 of its code, in hexadecimal. Default: of its declarations. */
  readonly digest?: string;
}

export interface RegisteredBuiltIn {
  readonly vertical: string;
  /** The number in the registry: with `+` and part of the digest where the plain number belongs to another build. */
  readonly version: string;
  readonly changed: boolean;
  /** The head of the admin log, when a row was written. */
  readonly head: LogHead | null;
}

/**
 * Registers, admits and promotes, in one transaction with one row of the log. Where nothing is new, nothing is written.
 * Scopes that are bound to another version are released: this platform cannot run that version any more.
 * @throws PlatformError `conflict`, reason `slug_taken`, when the slug belongs to a tenant.
 */
export function registerBuiltIn(
  context: UnitContext,
  { manifest, migrations, egress = [], digest }: BuiltIn,
): RegisteredBuiltIn {
  const { db } = context;
  const { slug } = manifest;
  const nowMs = context.now();
  const content = { manifest, migrations, egress };
  const build: Build = { version: manifest.version, digest: digest ?? contentHash(content), content };
  const found = loadVertical(db, slug);
  if (found && found.ownerTenant !== null) throw slugTaken();
  const present = found && presentBuild(context, slug, build);
  if (found && present && found.builtIn === present.id && found.serving === present.id)
    return { vertical: slug, version: present.version, changed: false, head: null };

  const revision = (logHead(db)?.sequence ?? 0) + 1;
  const vertical: VerticalRow = found ?? {
    slug,
    name: manifest.name,
    ownerTenant: null,
    tier: 'published',
    ...{ builtIn: null, serving: null, promotedAtMs: null, promotion: 0 },
    revision,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  if (!found) insertVertical(db, vertical);
  const before = vertical.serving === null ? undefined : loadVersion(db, slug, vertical.serving);
  const version =
    present ?? addVersion({ ...context, revision }, vertical, freeName(context, slug, build), content);
  if (version.status !== 'admitted' || version.reviewedBy !== 'platform')
    updateVersion(db, {
      ...version,
      status: 'admitted',
      reviewedBy: 'platform',
      revision,
      updatedAtMs: nowMs,
    });
  const released = releaseOthers(db, { vertical: slug, keep: version.id, revision, nowMs });
  updateVertical(db, {
    ...vertical,
    builtIn: version.id,
    serving: version.id,
    promotedAtMs: nowMs,
    promotion: revision,
    revision,
    updatedAtMs: nowMs,
  });
  const call = byPlatform(context.newId(ID_PREFIXES.request));
  const head = appendAdminLog(context, call, {
    target: targetOf(vertical, version.id),
    before: found ? { serving: before?.version ?? null } : null,
    after: { serving: version.version, digest: version.digest, releasedScopes: released },
    outcome: 'done',
  });
  return { vertical: slug, version: version.version, changed: true, head };
}

/** Code or declarations may have changed since the last start. */
interface Build {
  readonly version: string;
  readonly digest: string;
  readonly content: VersionContent;
}

/** The version of this very build, under its number or under the longer one. */
function presentBuild({ db }: UnitContext, slug: string, build: Build): VersionRow | undefined {
  const hash = contentHash(build.content);
  return [build.version, numberedBuild(build)]
    .map((number) => loadVersionByNumber(db, slug, number))
    .find((row) => row?.digest === build.digest && contentHash(loadContent(db, row.id)) === hash);
}

/** A number that belongs to another build is extended by build metadata (semver.org, section 10). */
function freeName({ db }: UnitContext, slug: string, build: Build): { version: string; digest: string } {
  const isFree = loadVersionByNumber(db, slug, build.version) === undefined;
  return { version: isFree ? build.version : numberedBuild(build), digest: build.digest };
}

function numberedBuild({ version, digest, content }: Build): string {
  const hash = createHash('sha256')
    .update(`${digest} ${contentHash(content)}`)
    .digest('hex');
  return `${version}${version.includes('+') ? '.' : '+'}${hash.slice(0, 12)}`;
}

function byPlatform(requestId: string): AuditedCall {
  const actor = { kind: 'system', id: 'platform', name: 'The platform itself' } as const;
  return { actor, token: null, requestId, action: 'verticals.register-built-in' };
}

/**
 * The migrations that a version declares, with the digests of a scope's own journal.
 * @param sets the vertical's own sets of its scopes, without those of the platform, which change with the platform.
 */
export function declaredMigrations(sets: readonly MigrationSet[]): DeclaredMigration[] {
  return sets.flatMap(({ name: set, migrations }) =>
    migrations.map((migration) => ({
      set,
      version: migration.version,
      name: migration.name,
      digest: migrationDigest(migration),
    })),
  );
}
