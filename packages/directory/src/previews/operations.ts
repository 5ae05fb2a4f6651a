/**
 * Previews of a vertical (design: runtime, "Previews"): making one, listing, opening and ending it. The directory keeps who
 * has which until when; the runtime has the bundle, the copy and the process.
 */
import {
  PlatformError,
  pageOf,
  pageQuery,
  type ScopeId,
  scopeId,
  type TenantId,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import type { Actor } from '../access/actors.ts';
import { requireReachable } from '../copies/operations.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import {
  branch,
  days,
  ofPreview,
  PREVIEWS_MAX,
  params,
  previewLink,
  previewMade,
  previewRecord,
  previewStep,
  tag,
} from '../declarations/previews.ts';
import { versionSource } from '../declarations/vertical-records.ts';
import { DEPLOY_FORM_BYTES_MAX } from '../declarations/verticals.ts';
import { type AuditEntry, type CallOf, delegated, read } from '../lib/handlers.ts';
import { tenantOfScope } from '../scopes/target.ts';
import { bundleParts, requireFiles } from '../vertical-registry/deploy.ts';
import { requireFitting } from '../vertical-registry/versions.ts';
import { requireVertical, type VerticalRow } from '../vertical-registry/verticals-store.ts';
import {
  countPreviews,
  deletePreview,
  insertPreview,
  listPreviews,
  type PreviewRow,
  previewOfRow,
  requirePreview,
} from './store.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Random letters in a host name: a preview is not found by guessing. */
const LABEL_BYTES = 8;

/** The outcome of making a preview, without a value of its data. */
export interface CopiedFacts {
  readonly row: PreviewRow;
  readonly copied: z.infer<typeof previewMade>['copied'];
}

export const previewsCreate = adminOperation({
  name: 'previews.create',
  summary: 'Run a bundle beside the version that serves, on data of its own',
  description:
    'The bundle is no version: it is not listed, never promoted, and needs no admission. It runs in a process of its own under a host name of its own. With scope, it gets a copy of that scope: columns that the application declares as personal are masked, sealed values stay sealed, and members, settings, attachments and waiting work are left out. Columns with other text are copied as they are, and only where acknowledgeUnmasked says so: without it, the refusal names them (409, reason unmasked_text). Without scope it begins empty. It sends no mail, reaches no issuer and no language model, and no other host unless network is true; it gets the secrets whose names begin with PREVIEW_, without that prefix, and no others. It ends by itself. With Accept: text/event-stream, answers events as verticals.deploy does.',
  tag,
  method: 'POST',
  path: '/verticals/:slug/previews',
  input: {
    params,
    body: z.strictObject({
      ...bundleParts,
      scope: scopeId
        .optional()
        .describe('The scope to be copied: one of this vertical, and of the caller’s tenant'),
      acknowledgeUnmasked: z
        .boolean()
        .default(false)
        .describe('Must be true where columns with text are neither sealed nor declared as personal'),
      days,
      branch: branch.optional(),
      source: versionSource.optional().describe('The commit that it was made from'),
      network: z.boolean().default(false).describe('Whether its code may call public hosts'),
    }),
  },
  form: { files: 'modules', bytesMax: DEPLOY_FORM_BYTES_MAX },
  events: { progress: previewStep },
  output: previewMade,
  success: 201,
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

export const createPreview = /* @__PURE__ */ delegated<typeof previewsCreate, PreviewRow, CopiedFacts>(
  previewsCreate,
  {
    begin: (context, call) => {
      const { db } = context;
      const { params, body, actor } = call;
      const vertical = requireVertical(db, actor, params.slug);
      requireFiles(body);
      requireFitting(vertical, body.manifest, body.manifest.version);
      if (countPreviews(db, vertical.slug) >= PREVIEWS_MAX) throw tooMany();
      const nowMs = context.now();
      const { kind, id, name } = actor;
      const row: PreviewRow = {
        id: context.newId('prv'),
        vertical: vertical.slug,
        version: body.manifest.version,
        ...dataOf(context, call, vertical),
        hostname: hostnameOf(vertical, context),
        branch: body.branch ?? null,
        source: body.source ?? null,
        network: body.network,
        createdBy: { kind, id, name },
        createdAtMs: nowMs,
        expiresAtMs: nowMs + body.days * DAY_MS,
      };
      return { intent: intentOf(row, makerOf(actor, vertical)), prepared: row };
    },
    settle: ({ db }, _call, { row, copied }) => {
      insertPreview(db, row);
      const after = { ...fieldsOf(row), unmasked: copied?.unmasked ?? [] };
      return {
        value: { preview: previewOfRow(row), copied },
        audit: auditOf(row, { before: null, after }),
        rerouted: true,
      };
    },
    // A preview whose making was interrupted is not there: the runtime removes what it has of one that is not listed.
    supersedes: ({ body }, earlier) =>
      earlier?.version === body.manifest.version && earlier.branch === (body.branch ?? null),
  },
);

export const previewsList = adminOperation({
  name: 'previews.list',
  summary: 'List the previews of a vertical, newest first',
  tag,
  method: 'GET',
  path: '/verticals/:slug/previews',
  input: {
    params,
    query: z.strictObject({ branch: branch.optional().describe('Only those of this branch'), ...pageQuery }),
  },
  output: pageOf(previewRecord),
  builder: 'own-tenant',
  pushToken: 'deploy',
});

export const readPreviews = /* @__PURE__ */ read(previewsList, ({ db }, { params, query, actor }) => {
  const { slug: vertical } = requireVertical(db, actor, params.slug);
  return { value: listPreviews(db, { ...query, vertical }) };
});

export const previewsOpen = adminOperation({
  name: 'previews.open',
  summary: 'Make a link into a preview',
  description:
    'The reader of the link makes an account in the preview and is its owner there; accounts of the live instance do not exist in it. Once it has an owner, the answer is its address alone.',
  tag,
  method: 'POST',
  path: '/verticals/:slug/previews/:preview/open',
  input: { params: ofPreview },
  output: previewLink,
  success: 201,
  builder: 'own-tenant',
  pushToken: 'deploy',
  problems: ['not_found', 'unsupported', 'runtime_fault', 'unavailable'],
});

export const openPreview = /* @__PURE__ */ delegated<typeof previewsOpen, PreviewRow, null>(previewsOpen, {
  begin: ({ db }, { params, actor }) => {
    requireVertical(db, actor, params.slug);
    const row = requirePreview(db, params);
    return { intent: auditOf(row, { before: null, after: { preview: row.id } }), prepared: row };
  },
  settle: ({ db }, { params }) => {
    const row = requirePreview(db, params);
    return {
      value: null as never,
      audit: auditOf(row, { before: null, after: { preview: row.id } }),
      shownOnce:
        'The link was shown by an earlier call with this key and is not kept. Make another with a new key.',
    };
  },
  supersedes: ({ params }, earlier) => earlier?.preview === params.preview,
});

export const previewsEnd = adminOperation({
  name: 'previews.end',
  summary: 'End a preview, and remove everything of it',
  tag,
  method: 'DELETE',
  path: '/verticals/:slug/previews/:preview',
  input: { params: ofPreview },
  output: z.null(),
  success: 204,
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  problems: ['not_found', 'unsupported', 'runtime_fault', 'unavailable'],
});

export const endPreview = /* @__PURE__ */ delegated<typeof previewsEnd, PreviewRow, null>(previewsEnd, {
  begin: ({ db }, { params, actor }) => {
    requireVertical(db, actor, params.slug);
    const row = requirePreview(db, params);
    // The scope of a copy has several previews: the id tells which of them an intent is about.
    return { intent: auditOf(row, { before: fieldsOf(row), after: { preview: row.id } }), prepared: row };
  },
  settle: ({ db }, { params }) => {
    const row = requirePreview(db, params);
    deletePreview(db, row.id);
    return { value: null, audit: auditOf(row, { before: fieldsOf(row), after: null }), rerouted: true };
  },
  supersedes: ({ params }, earlier) => earlier?.preview === params.preview,
});

/**
 * The ids under which a preview keeps its data: those of the scope that it copies, so that what is sealed in it stays in its
 * place, or fresh ones.
 */
function dataOf(
  { db, newId }: { readonly db: SqlDatabase; readonly newId: (prefix: string) => string },
  { body, actor }: CallOf<typeof previewsCreate>,
  vertical: VerticalRow,
): Pick<PreviewRow, 'tenant' | 'scope' | 'copied'> {
  if (body.scope === undefined)
    return {
      tenant: makerOf(actor, vertical) ?? (newId('tnt') as TenantId),
      scope: newId('scp') as ScopeId,
      copied: false,
    };
  const tenant = actor.kind === 'builder' ? actor.tenant : (tenantOfScope(db, body.scope) as TenantId);
  const row = requireReachable(db, { tenant, scope: body.scope });
  if (row.vertical !== vertical.slug)
    throw new PlatformError('conflict', `This is a scope of ${row.vertical}, and not of ${vertical.slug}.`, {
      reason: 'other_vertical',
    });
  return { tenant, scope: row.id, copied: true };
}

/** The tenant that a preview without a scope is made for; null where neither the caller nor the vertical belongs to one. */
function makerOf(actor: Actor, { ownerTenant }: VerticalRow): TenantId | null {
  return actor.kind === 'builder' ? actor.tenant : ownerTenant;
}

/** Below the platform's own domain, where no name has to be proved. */
function hostnameOf(
  { slug }: VerticalRow,
  {
    random,
    facts,
  }: {
    readonly random: (bytes: number) => Uint8Array;
    readonly facts: { readonly baseDomains: readonly string[] };
  },
): string {
  const label = Buffer.from(random(LABEL_BYTES)).toString('hex');
  // A label has 63 characters at most (RFC 1035, section 2.3.4).
  return `${slug.slice(0, 40)}--${label}.${facts.baseDomains[0] ?? 'localhost'}`;
}

function fieldsOf({ id, version, hostname, branch, network, copied, expiresAtMs }: PreviewRow) {
  const expiresAt = toTimestamp(expiresAtMs);
  return { preview: id, version, hostname, branch, network, copied, expiresAt };
}

/** Without what another attempt makes anew, such as the id: a later success settles the intent by what is the same. */
function intentOf(row: PreviewRow, maker: TenantId | null): AuditEntry {
  const { version, branch, network, copied } = row;
  const { target } = auditOf(row, { before: null, after: null });
  const tenant = copied ? target.tenant : maker;
  return {
    target: { ...target, tenant, other: null },
    before: null,
    after: { version, branch, network, copied },
  };
}

function auditOf(
  { tenant, scope, vertical, id, copied }: PreviewRow,
  change: Pick<AuditEntry, 'before' | 'after'>,
): AuditEntry {
  return { target: { tenant, scope: copied ? scope : null, vertical, other: id }, ...change };
}

function tooMany(): PlatformError {
  return new PlatformError('conflict', `A vertical has at most ${PREVIEWS_MAX} previews: end one first.`, {
    reason: 'too_many_previews',
  });
}
