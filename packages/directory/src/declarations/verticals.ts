/** The registry of verticals: what there is, its versions, and which one serves (spec 3.4, 4.3; control-plane-routes, "Verticals"). */
import { pageOf, pageQuery, slug, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { dryRunQuery, planCount } from './dry-run.ts';
import {
  bundleDigest,
  channelName,
  channelRecord,
  deployment,
  egressReport,
  instanceRecord,
  versionChanges,
  versionDetail,
  versionId,
  versionNumber,
  versionParts,
  versionRecord,
  versionStatus,
  versionVerdict,
  verticalRecord,
} from './vertical-records.ts';

const tag = 'Verticals';
const params = z.strictObject({ slug });
const versionParams = z.strictObject({ slug, id: versionId });
const name = z.string().min(1).max(200);
const owned = 'A builder reaches the verticals that its tenant owns; every other one is not there.';

export const verticalsList = adminOperation({
  name: 'verticals.list',
  summary: 'List the verticals',
  description:
    'By slug. ownerTenant and visibleTo only narrow, and are for staff and services; a builder sees what its tenant owns, whatever it sends in them.',
  tag,
  method: 'GET',
  path: '/verticals',
  input: {
    query: z.strictObject({
      ownerTenant: tenantId.optional().describe('Only what this tenant owns'),
      visibleTo: tenantId.optional().describe('Only what this tenant owns, and what is published'),
      ...pageQuery,
    }),
  },
  output: pageOf(verticalRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

export const verticalsCreate = adminOperation({
  name: 'verticals.create',
  summary: 'Register a vertical',
  description:
    "Idempotent by slug: the same name and owner answer the vertical that is there (200), anything else is a conflict. Without an owner it is the platform's own; a builder's is its tenant's.",
  tag,
  method: 'POST',
  path: '/verticals',
  input: { body: z.strictObject({ slug, name, ownerTenant: tenantId.optional() }) },
  output: verticalRecord,
  success: 201,
  builder: 'own-tenant',
  audit: 'audit',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition'],
});

export const verticalsGet = adminOperation({
  name: 'verticals.get',
  summary: 'Get one vertical',
  description: owned,
  tag,
  method: 'GET',
  path: '/verticals/:slug',
  input: { params },
  output: verticalRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
});

export const verticalsUpdate = adminOperation({
  name: 'verticals.update',
  summary: 'Rename a vertical',
  description: owned,
  tag,
  method: 'PATCH',
  path: '/verticals/:slug',
  input: { params, body: z.strictObject({ name }) },
  output: verticalRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  etag: true,
});

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
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
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
  audit: 'audit',
  etag: true,
  problems: ['immutable'],
});

export const versionsGet = adminOperation({
  name: 'vertical-versions.get',
  summary: 'Get one version, with what it changes against the one that serves',
  tag,
  method: 'GET',
  path: '/verticals/:slug/versions/:id',
  input: { params: versionParams },
  output: versionDetail,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
});

const verdict = z.strictObject({ note: z.string().min(1).max(1000).optional() });
const reviewers =
  "Staff may, and the owner of a private vertical that nobody else has an instance of (otherwise reason staff_review_required). The answer compares the version's permissions, migrations, hosts and settings with those that serve.";

export const versionsAdmit = adminOperation({
  name: 'vertical-versions.admit',
  summary: 'Admit a version: it may serve',
  description: `A pending or a rejected one. ${reviewers}`,
  tag,
  method: 'POST',
  path: '/verticals/:slug/versions/:id/admit',
  input: { params: versionParams, body: verdict },
  output: versionVerdict,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  etag: true,
  problems: ['forbidden', 'invalid_transition'],
});

export const versionsReject = adminOperation({
  name: 'vertical-versions.reject',
  summary: 'Reject a version: it may not serve',
  description: `One that serves, or that a scope is bound to, is not rejected (reason version_in_use). ${reviewers}`,
  tag,
  method: 'POST',
  path: '/verticals/:slug/versions/:id/reject',
  input: { params: versionParams, body: verdict },
  output: versionVerdict,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['forbidden', 'invalid_transition'],
});

export const channelsList = adminOperation({
  name: 'channels.list',
  summary: "List a vertical's channels",
  description: 'There is one: prod.',
  tag,
  method: 'GET',
  path: '/verticals/:slug/channels',
  input: { params },
  output: z.object({ items: z.array(channelRecord) }),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

/** How a caller names one version of a known vertical. */
export const versionChoice = {
  version: versionNumber.optional().describe('By its number'),
  id: versionId.optional().describe('By its id'),
};

const acknowledgeMigrations = z
  .boolean()
  .default(false)
  .describe('Must be true where the migrations differ from those that serve');

export const promotionPlan = z
  .object({
    dryRun: z.literal(true),
    channel: channelRecord.describe('What serves now'),
    version: versionRecord.describe('What would serve'),
    changes: versionChanges.nullable().describe('Against what serves; null while nothing does'),
    acknowledge: z
      .boolean()
      .describe('Whether the call is refused without acknowledgeMigrations, because the migrations differ'),
    instances: planCount.describe(
      'How many scopes follow prod and are moved to it. A builder is told of those of its own tenant',
    ),
    bound: planCount.describe('How many stay on a version of their own'),
    uploaded: z
      .boolean()
      .describe('Whether the runtime is asked to serve it; otherwise it was only registered'),
  })
  .meta({ id: 'PromotionPlan' });

export const channelsPromote = adminOperation({
  name: 'channels.promote',
  summary: 'Make a version the one that serves',
  description:
    'Only prod, and only an admitted version: exactly one of version and id. Where its migrations differ from those that serve, that has to be acknowledged (reason migrations_changed). A vertical that is compiled into this platform serves the version that is (reason built_in_version). With dryRun, answers what changes and for how many scopes, and needs no acknowledgement.',
  tag,
  method: 'POST',
  path: '/verticals/:slug/channels/:channel/promote',
  input: {
    params: z.strictObject({ slug, channel: channelName }),
    query: dryRunQuery,
    body: z.strictObject({ ...versionChoice, acknowledgeMigrations }),
  },
  output: channelRecord,
  plan: promotionPlan,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['forbidden', 'invalid_transition', 'unsupported', 'runtime_fault'],
});

/** 16 MiB: with what Base64 adds to it, a call still fits through an engine's door (workerd: 32 MiB a call). */
export const DEPLOY_FORM_BYTES_MAX = 16 * 1024 * 1024;
/** No file is larger than the form that it comes in. */
const MODULE_CHARS_MAX = 4 * Math.ceil(DEPLOY_FORM_BYTES_MAX / 3);

/** One file of a deployment. */
export const deployModule = z.strictObject({
  name: z
    .string()
    .max(200)
    .regex(/^[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$/, 'must be a relative path'),
  mediaType: z.string().min(1).max(100).describe('application/javascript+module'),
  base64: z.base64().max(MODULE_CHARS_MAX),
});
export type DeployModule = z.infer<typeof deployModule>;

/** As many files as one deployment may have. */
export const MODULES_MAX = 500;

const counted = z.object({ done: z.int().min(0), total: z.int().min(0) });

/** One step of a deployment, as it is told while it happens. */
export const deployStep = z.object({
  step: z
    .enum(['registered', 'uploading', 'uploaded', 'admitted', 'serving'])
    .describe(
      'uploading is told again as files are taken; admitted and serving once they are written down, where they were asked for',
    ),
  id: versionId,
  version: versionNumber,
  modules: counted,
  bytes: counted,
});
export type DeployStep = z.infer<typeof deployStep>;

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

export const verticalsInstances = adminOperation({
  name: 'verticals.instances',
  summary: 'List the scopes of a vertical with the version of each',
  description: 'A builder sees those of its own tenant; who else uses its vertical is not its to know.',
  tag,
  method: 'GET',
  path: '/verticals/:slug/instances',
  input: { params, query: z.strictObject(pageQuery) },
  output: pageOf(instanceRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

export const verticalsEgress = adminOperation({
  name: 'verticals.egress',
  summary: 'Show which hosts a vertical called, beside those that it declared',
  description: 'Per deployed version. A runtime that does not look at outgoing calls answers unsupported.',
  tag,
  method: 'GET',
  path: '/verticals/:slug/egress',
  input: {
    params,
    query: z.strictObject({
      hours: z.int().min(1).max(72).default(24).describe('How far back'),
      limit: z
        .int()
        .min(1)
        .max(1000)
        .default(500)
        .describe('How many observed hosts at most, of all versions'),
    }),
  },
  output: egressReport,
  success: 200,
  builder: 'none',
  audit: 'none',
  problems: ['unsupported', 'runtime_fault'],
});
