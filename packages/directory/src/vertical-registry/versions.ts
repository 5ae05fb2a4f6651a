/** Registering the versions of a vertical, and admitting or rejecting them. */
import { createHash } from 'node:crypto';
import {
  canonicalJson,
  ID_PREFIXES,
  manifestSchema,
  noteText,
  PlatformError,
  pageOf,
  pageQuery,
  parseInput,
  slug,
} from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import {
  bundleDigest,
  type VersionStatus,
  type VersionVerdict,
  versionDetail,
  versionId,
  versionNumber,
  versionParts,
  versionRecord,
  versionStatus,
  versionVerdict,
} from '../declarations/vertical-records.ts';
import { params, tag } from '../declarations/verticals.ts';
import { type CallOf, type ChangeAnswer, type ChangeContext, change, read } from '../lib/handlers.ts';
import { archiveScript } from '../service-refs/script-names.ts';
import { targetOf } from './operations.ts';
import { changesAgainstServing, requireCompiledIn, reviewerOf, staffReviewRequired } from './reviews.ts';
import {
  insertVersion,
  isBound,
  listVersions,
  loadContent,
  loadVersionByNumber,
  requireVersion,
  updateVersion,
  type VersionContent,
  type VersionRow,
  versionOfRow,
  versionTag,
} from './versions-store.ts';
import { requireVertical, type VerticalRow } from './verticals-store.ts';

const versionParams = z.strictObject({ slug, id: versionId });

const verdict = z.strictObject({ note: noteText(1000).optional() });

const reviewers =
  "Staff may, and the owner of a private vertical of which no other tenant has an instance (otherwise reason staff_review_required). The answer compares the version's permissions, migrations, hosts and settings with those that serve.";

export const versionsList = adminOperation({
  name: 'vertical-versions.list',
  summary: "List a vertical's versions, newest first",
  tag,
  method: 'GET',
  path: '/verticals/:slug/versions',
  input: {
    params,
    query: z.strictObject({
      status: versionStatus.optional().describe('Only versions in this state'),
      ...pageQuery,
    }),
  },
  output: pageOf(versionRecord),
  builder: 'own-tenant',
  pushToken: 'deploy',
});

export const readVersions = /* @__PURE__ */ read(versionsList, ({ db }, { params, query, actor }) => ({
  value: listVersions(db, requireVertical(db, actor, params.slug), query),
}));

export const versionsGet = adminOperation({
  name: 'vertical-versions.get',
  summary: 'Get one version, with what it changes against the one that serves',
  tag,
  method: 'GET',
  path: '/verticals/:slug/versions/:id',
  input: { params: versionParams },
  output: versionDetail,
  builder: 'own-tenant',
  pushToken: 'deploy',
  etag: true,
});

export const readVersion = /* @__PURE__ */ read(versionsGet, ({ db }, { params, actor }) => {
  const vertical = requireVertical(db, actor, params.slug);
  const row = requireVersion(db, vertical.slug, { id: params.id });
  const content = loadContent(db, row.id);
  const value = {
    ...versionOfRow(row, vertical),
    manifest: content.manifest,
    migrations: [...content.migrations],
    egress: [...content.egress],
    changes: changesAgainstServing(db, vertical, content),
  };
  return { value };
});

export const versionsRegister = adminOperation({
  name: 'vertical-versions.register',
  summary: 'Register a version of a vertical',
  description:
    'A version never changes: the same one with the same digest answers what is there (200), with another digest it is refused (immutable). It is pending until it is admitted.',
  tag,
  method: 'POST',
  path: '/verticals/:slug/versions',
  input: {
    params,
    body: z.strictObject({ version: versionNumber, digest: bundleDigest, ...versionParts }),
  },
  output: versionRecord,
  success: 201,
  builder: 'own-tenant',
  pushToken: 'deploy',
  etag: true,
  problems: ['immutable'],
});

export const registerVersion = /* @__PURE__ */ change(
  versionsRegister,
  (context, { params, body, actor, ifMatch }) => {
    const { db } = context;
    const vertical = requireVertical(db, actor, params.slug);
    const { version, digest, manifest, migrations, egress } = body;
    requireFitting(vertical, manifest, version);
    const present = loadVersionByNumber(db, vertical.slug, version);
    requireMatch(ifMatch, present ? versionTag(present, vertical) : null);
    const row = findSame(context, vertical, { version, digest }, { manifest, migrations, egress });
    if (row) return { status: 200, value: versionOfRow(row, vertical), audit: null };
    const added = addVersion(context, vertical, { version, digest }, { manifest, migrations, egress });
    const audit = { target: targetOf(vertical, added.id), before: null, after: { version, digest } };
    return { value: versionOfRow(added, vertical), audit };
  },
);

/** A verdict can be revised, except that a version that runs is not rejected. */
const VERDICTS = { admit: 'admitted', reject: 'rejected' } as const;

export const versionsAdmit = adminOperation({
  name: 'vertical-versions.admit',
  summary: 'Admit a version: it may serve',
  description: `A pending or a rejected one. ${reviewers}`,
  tag,
  method: 'POST',
  path: '/verticals/:slug/versions/:id/admit',
  input: { params: versionParams, body: verdict },
  output: versionVerdict,
  builder: 'own-tenant',
  pushToken: 'deploy',
  etag: true,
  problems: ['forbidden', 'invalid_transition'],
});

export const admitVersion = /* @__PURE__ */ change(versionsAdmit, (context, call) =>
  decide(context, call, 'admit'),
);
export const versionsReject = adminOperation({
  name: 'vertical-versions.reject',
  summary: 'Reject a version: it may not serve',
  description: `One that serves, or that a scope is bound to, is not rejected (reason version_in_use). ${reviewers}`,
  tag,
  method: 'POST',
  path: '/verticals/:slug/versions/:id/reject',
  input: { params: versionParams, body: verdict },
  output: versionVerdict,
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  etag: true,
  problems: ['forbidden', 'invalid_transition'],
});

export const rejectVersion = /* @__PURE__ */ change(versionsReject, (context, call) =>
  decide(context, call, 'reject'),
);

function decide(
  context: ChangeContext,
  { params, body, actor, ifMatch }: CallOf<typeof versionsAdmit>,
  verdict: keyof typeof VERDICTS,
): ChangeAnswer<VersionVerdict> {
  const { db, revision } = context;
  const vertical = requireVertical(db, actor, params.slug);
  const before = requireVersion(db, vertical.slug, { id: params.id });
  const reviewedBy = reviewerOf(db, actor, vertical);
  // A verdict of staff stands until staff change it.
  if (reviewedBy === 'owner' && before.reviewedBy === 'platform') throw staffReviewRequired();
  requireMatch(ifMatch, versionTag(before, vertical));
  const status: VersionStatus = VERDICTS[verdict];
  if (status === 'rejected') requireUnused(context, vertical, before);
  const changes = changesAgainstServing(db, vertical, loadContent(db, before.id));
  const answer = (row: VersionRow) => {
    const version = versionOfRow(row, vertical);
    return { value: { version, changes }, etag: version.etag };
  };
  // A verdict of staff replaces the owner's, even where it is the same.
  if (before.status === status && before.reviewedBy === reviewedBy) return { ...answer(before), audit: null };
  const note = body.note ?? null;
  const after: VersionRow = { ...before, status, reviewedBy, note, revision, updatedAtMs: context.now() };
  updateVersion(db, after);
  const fields = (row: VersionRow) => ({
    version: row.version,
    status: row.status,
    reviewedBy: row.reviewedBy,
    note: row.note,
  });
  return {
    ...answer(after),
    audit: { target: targetOf(vertical, after.id), before: fields(before), after: fields(after) },
  };
}

/** @throws PlatformError `invalid_transition`, reason `version_in_use`. */
function requireUnused({ db }: UnitContext, vertical: VerticalRow, row: VersionRow): void {
  if (row.id !== vertical.serving && !isBound(db, row.id)) return;
  throw new PlatformError(
    'invalid_transition',
    'This version runs: promote another one, and let go of the scopes that are bound to it.',
    { reason: 'version_in_use' },
  );
}

/**
 * A manifest names the vertical and the version under which it is registered, and its parts fit each other.
 * @throws PlatformError `validation_failed`.
 */
export function requireFitting(
  vertical: Pick<VerticalRow, 'slug'>,
  manifest: VersionContent['manifest'],
  version: string,
): void {
  parseInput('The manifest', manifestSchema, manifest);
  const errors = [
    ...(manifest.slug === vertical.slug
      ? []
      : [{ path: 'manifest.slug', message: `must be ${vertical.slug}` }]),
    ...(manifest.version === version
      ? []
      : [{ path: 'manifest.version', message: `must be the version that is registered, ${version}` }]),
  ];
  if (errors.length > 0)
    throw new PlatformError('validation_failed', 'The manifest is of another vertical or version.', {
      errors,
    });
}

interface Name {
  readonly version: string;
  readonly digest: string;
}

/**
 * The version, if it was registered with exactly this content; null if it was not registered.
 * @throws PlatformError `immutable`, when its content is another; `unsupported`, reason `built_in_version`, for a vertical
 * that could never run it.
 */
export function findSame(
  { db }: UnitContext,
  vertical: VerticalRow,
  { version, digest }: Name,
  content: VersionContent,
): VersionRow | null {
  const found = loadVersionByNumber(db, vertical.slug, version);
  if (!found) {
    requireCompiledIn(db, vertical, { id: '', version });
    return null;
  }
  if (found.digest === digest && contentHash(loadContent(db, found.id)) === contentHash(content))
    return found;
  throw new PlatformError(
    'immutable',
    `Version ${version} is registered with other content, and a version never changes: raise its number.`,
    { reason: 'version_registered' },
  );
}

/** Registers a new version as pending. */
export function addVersion(
  context: Pick<ChangeContext, 'db' | 'now' | 'newId' | 'revision'>,
  { slug }: Pick<VerticalRow, 'slug'>,
  { version, digest }: Name,
  content: VersionContent,
): VersionRow {
  const nowMs = context.now();
  const row: VersionRow = {
    id: context.newId(ID_PREFIXES.version),
    vertical: slug,
    version,
    digest,
    status: 'pending',
    ...{ reviewedBy: null, note: null, uploadedAtMs: null, deployedBy: null, source: null },
    script: archiveScript(slug, version),
    revision: context.revision,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  insertVersion(context.db, row, content);
  return row;
}

/** SHA-256 of a version's declarations: its digest covers the code alone, and may be the same for two manifests. */
export function contentHash({ manifest, migrations, egress }: VersionContent): string {
  return createHash('sha256').update(canonicalJson({ manifest, migrations, egress })).digest('hex');
}
