/** A deployment, as far as the directory is concerned: what it registers, and what became of it. Its effect: `host-admin-deploy.ts`. */

import { createHash } from 'node:crypto';
import { canonicalJson } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import type { Deployment } from '../declarations/vertical-records.ts';
import { deployment, versionParts } from '../declarations/vertical-records.ts';
import {
  acknowledgeMigrations,
  DEPLOY_FORM_BYTES_MAX,
  type DeployModule,
  deployModule,
  deployStep,
  params,
  tag,
} from '../declarations/verticals.ts';
import { type CallOf, type Change, type ChangeContext, delegated } from '../lib/handlers.ts';
import { promote, requirePromotable, type Serving, servingOf } from './channels.ts';
import { targetOf } from './operations.ts';
import { reviewerOf, staffReviewRequired } from './reviews.ts';
import { changesAgainstServing } from './version-diff.ts';
import { addVersion, findSame, requireFitting } from './versions.ts';
import {
  forgetVersion,
  loadContent,
  requireVersion,
  updateVersion,
  type VersionContent,
  type VersionRow,
  versionOfRow,
} from './versions-store.ts';
import { requireVertical, type VerticalRow } from './verticals-store.ts';

/** As many files as one deployment may have. */
export const MODULES_MAX = 500;

type DeployCall = CallOf<typeof verticalsDeploy>;

/** What the runtime is to do. */
export interface PreparedDeployment extends Serving {
  /** Whether this call registered the version, and takes it back when the runtime refuses. */
  readonly isNew: boolean;
  readonly serves: boolean;
}

export const verticalsDeploy = adminOperation({
  name: 'verticals.deploy',
  summary: 'Register a version, upload it, and admit and promote it when asked to',
  description:
    'The version is the one that the manifest names; its digest is computed. It is uploaded under its archive script. promote needs an admitted version, so that a new one needs admit too. Where this platform has no runtime to upload to, it is refused before anything is written (reason no_runtime). A form brings files that JSON has no room for: its field meta is the JSON of everything but modules, and each other part is one module, named by its file name. With Accept: text/event-stream, answers events: progress with each step as it happens, and at the end done with the answer, whose id is the head of the admin log, or failed with the problem. It is deployed to the end whether or not anybody goes on listening, and what is refused before it begins is refused as without events.',
  tag,
  method: 'POST',
  path: '/verticals/:slug/deploy',
  input: {
    params,
    body: z.strictObject({
      ...versionParts,
      modules: z.array(deployModule).min(1).max(MODULES_MAX),
      admit: z.boolean().default(false),
      promote: z.boolean().default(false),
      acknowledgeMigrations,
    }),
  },
  form: { files: 'modules', bytesMax: DEPLOY_FORM_BYTES_MAX },
  events: { progress: deployStep },
  output: deployment,
  success: 201,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  problems: ['forbidden', 'immutable', 'invalid_transition', 'unsupported', 'runtime_fault'],
});

export const deployVersion = /* @__PURE__ */ delegated<
  typeof verticalsDeploy,
  PreparedDeployment,
  { readonly id: string }
>(verticalsDeploy, {
  begin: (context, call) => {
    const { db } = context;
    const { params, body, actor } = call;
    const vertical = requireVertical(db, actor, params.slug);
    const { content, name } = contentOf(call);
    requireFitting(vertical, content.manifest, name.version);
    const found = findSame(context, vertical, name, content);
    const version = found ?? addVersion(context, vertical, name, content);
    const admitted = body.admit ? admittedBy(context, vertical, version, call) : version;
    if (body.promote && version.id !== vertical.serving)
      requirePromotable(db, actor, vertical, admitted, body);
    if (found && found.uploadedAtMs !== null && isDone(vertical, found, admitted, body))
      return { change: { ...answer(context, vertical, found), status: 200, audit: null } };
    const after = { version: name.version, digest: name.digest, admit: body.admit, promote: body.promote };
    return {
      intent: { target: targetOf(vertical, version.id), before: null, after },
      prepared: { ...servingOf(version), isNew: !found, serves: body.promote },
    };
  },
  settle: (context, call, { id }) => {
    const { db, revision } = context;
    const { params, body, actor } = call;
    const vertical = requireVertical(db, actor, params.slug);
    const before = requireVersion(db, vertical.slug, { id });
    const nowMs = context.now();
    const judged = body.admit ? admittedBy(context, vertical, before, call) : before;
    const after: VersionRow = { ...judged, uploadedAtMs: nowMs, revision, updatedAtMs: nowMs };
    updateVersion(db, after);
    if (body.promote) promote(context, vertical, after);
    const shown = requireVertical(db, actor, params.slug);
    const audit = {
      target: targetOf(vertical, id),
      before: { status: before.status, serving: vertical.serving === id },
      after: {
        version: after.version,
        digest: after.digest,
        status: after.status,
        serving: shown.serving === id,
      },
    };
    return { ...answer(context, shown, after, vertical), status: 201, audit, rerouted: body.promote };
  },
  undo: ({ db, intent }, { params, actor }, { id, isNew }) => {
    if (!isNew) return;
    const vertical = requireVertical(db, actor, params.slug);
    const row = requireVersion(db, vertical.slug, { id });
    // Somebody may have decided about it meanwhile; then it is no longer this call's alone.
    if (row.revision === intent && row.status === 'pending') forgetVersion(db, id);
  },
});

/** The digest of a deployment is that of its files; what it declares is compared beside it. */
function contentOf({ body }: DeployCall): {
  content: VersionContent;
  name: { version: string; digest: string };
} {
  const { manifest, migrations, egress, modules } = body;
  return {
    content: { manifest, migrations, egress },
    name: { version: manifest.version, digest: digestOf(modules) },
  };
}

/** SHA-256 over the names, media types and contents of the files, whatever their order. */
export function digestOf(modules: readonly DeployModule[]): string {
  const files = modules
    .map(({ name, mediaType, base64 }) => ({ name, mediaType, base64 }))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
  return createHash('sha256').update(canonicalJson(files)).digest('hex');
}

/** The version as it is once this call has admitted it. @throws PlatformError, where it may not. */
function admittedBy(
  { db }: Pick<ChangeContext, 'db'>,
  vertical: VerticalRow,
  version: VersionRow,
  { actor }: DeployCall,
): VersionRow {
  if (version.status === 'admitted' && version.reviewedBy === 'platform') return version;
  const reviewedBy = reviewerOf(db, actor, vertical);
  if (reviewedBy === 'owner' && version.reviewedBy === 'platform') throw staffReviewRequired();
  return { ...version, status: 'admitted', reviewedBy };
}

function isDone(
  vertical: VerticalRow,
  found: VersionRow,
  admitted: VersionRow,
  { promote: promotes }: DeployCall['body'],
): boolean {
  const isJudged = found.status === admitted.status && found.reviewedBy === admitted.reviewedBy;
  return isJudged && (!promotes || vertical.serving === found.id);
}

/** @param before the vertical before this deployment: what it changed is told against what served then. */
function answer(
  { db }: Pick<ChangeContext, 'db'>,
  vertical: VerticalRow,
  row: VersionRow,
  before: VerticalRow = vertical,
): Pick<Change<Deployment>, 'value'> {
  const changes = changesAgainstServing(db, before, loadContent(db, row.id));
  return { value: { version: versionOfRow(row, vertical), changes, promoted: vertical.serving === row.id } };
}
