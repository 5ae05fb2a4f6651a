/** The records of the registry of verticals. Data only, so that a client can import it. */
import {
  ID_PREFIXES,
  idSchema,
  lineOfText,
  manifestSchema,
  permissionKey,
  scopeId,
  slug,
  tenantId,
  timestamp,
} from '@freehold/contracts';
import { z } from 'zod';
import { scopeKind, scopeStatus } from './records.ts';

const etag = z.string().describe('The version of this record; send it back in If-Match');
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hexadecimal');

export const versionId = idSchema(ID_PREFIXES.version);

/** Semantic versioning 2.0.0, with the characters that it allows: a version is part of a script's name. */
export const versionNumber = z
  .string()
  .max(100)
  .regex(/^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/, 'must be a version such as 1.4.0');

/** The readers that can find a vertical: its owner only, every tenant that knows its name, or every tenant. */
export const listingTier = z.enum(['private', 'unlisted', 'published']);
export type ListingTier = z.infer<typeof listingTier>;

export const verticalRecord = z
  .object({
    slug,
    name: z.string(),
    ownerTenant: tenantId.nullable().describe("Null for the platform's own"),
    tier: listingTier,
    builtIn: z.string().nullable().describe('The one version that is compiled into this platform, if it is'),
    serving: z.string().nullable().describe('The version on the channel prod'),
    blocked: z.boolean().describe('Whether new instances are refused'),
    createdAt: timestamp,
    updatedAt: timestamp,
    etag,
  })
  .meta({ id: 'Vertical' });
export type VerticalRecord = z.infer<typeof verticalRecord>;

/** `pending` until staff reviewed it. Only an admitted version can serve. */
export const versionStatus = z.enum(['pending', 'admitted', 'rejected']);
export type VersionStatus = z.infer<typeof versionStatus>;

/** One step of a version's schema, as a scope lists it when it was applied. */
export const declaredMigration = z
  .strictObject({
    set: z.string().min(1).max(100),
    version: z.int().min(0),
    name: z.string().min(1).max(200),
    digest: sha256.describe('SHA-256 of its SQL'),
  })
  .meta({ id: 'DeclaredMigration' });
export type DeclaredMigration = z.infer<typeof declaredMigration>;

/** A host name, or `*.` and one. */
export const egressHost = z
  .string()
  .max(253)
  .regex(
    /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/,
    'must be a host name',
  );

/** The form of a manifest; that its parts fit each other is judged where it is registered. */
export const manifestForm = z.strictObject(manifestSchema.shape).meta({ id: 'VerticalManifest' });

/** The content of a version at its registration. */
export const versionParts = {
  manifest: manifestForm,
  migrations: z.array(declaredMigration).max(1000).default([]).describe('Every migration of its schema'),
  egress: z.array(egressHost).max(100).default([]).describe('The hosts that it means to call'),
};
export const bundleDigest = sha256.describe('SHA-256 of what is deployed');

/** An actor, as it was named when it acted. */
export const requester = z.object({ kind: z.string(), id: z.string(), name: z.string() });

/** The commit that a builder deployed from, as the builder says. The platform does not look it up. */
export const versionSource = z
  .strictObject({
    commit: z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'must be the full hash of a commit'),
    ref: lineOfText(200).nullable().default(null).describe('The branch or tag'),
    dirty: z.boolean().default(false).describe('Whether files differed from that commit'),
  })
  .meta({ id: 'VersionSource' });
export type VersionSource = z.infer<typeof versionSource>;

export const versionRecord = z
  .object({
    id: versionId,
    vertical: slug,
    version: versionNumber,
    digest: bundleDigest,
    status: versionStatus,
    reviewedBy: z.enum(['platform', 'owner']).nullable().describe('Whose verdict it was'),
    note: z.string().nullable().describe('What was said with the verdict'),
    script: z.string().describe('The name of its archive script'),
    uploadedAt: timestamp.nullable().describe('When the runtime took it; null where it was only registered'),
    deployedBy: requester.nullable().describe('The caller of the deployment that brought it'),
    source: versionSource.nullable().describe('The commit of that deployment; null where it named none'),
    serving: z.boolean().describe('Whether it is on the channel prod'),
    createdAt: timestamp,
    updatedAt: timestamp,
    etag: etag.describe('Changes with the version, and with what serves: a verdict compares the two'),
  })
  .meta({ id: 'VerticalVersion' });
export type VersionRecord = z.infer<typeof versionRecord>;

const keys = z.array(z.string()).readonly();
const gainedAndLost = z.object({ gained: keys, lost: keys });
const ofHolder = z.array(permissionKey).readonly();
const permissionKeys = z.object({ gained: ofHolder, lost: ofHolder });
const parent = z.string().nullable();

const permissionChanges = z
  .object({
    permissions: gainedAndLost,
    roles: gainedAndLost,
    services: gainedAndLost,
    byRole: z.record(z.string(), permissionKeys),
    byService: z.record(z.string(), permissionKeys),
    ownerRole: z.object({ before: z.string(), after: z.string() }).nullable(),
    parents: z.array(z.object({ entity: z.string(), before: parent, after: parent })).readonly(),
    widens: z.boolean().describe('Whether anybody could do more than before'),
  })
  .meta({ id: 'PermissionChanges' });

export const versionChanges = z
  .object({
    serving: z.string().describe('The version that it is compared with'),
    permissions: permissionChanges,
    migrations: z.object({
      added: z.array(declaredMigration),
      removed: z.array(declaredMigration),
      changed: z.array(z.object({ before: declaredMigration, after: declaredMigration })),
      differs: z.boolean().describe('Whether promoting it has to be acknowledged'),
    }),
    egress: gainedAndLost,
    settings: gainedAndLost,
  })
  .meta({ id: 'VersionChanges' });
export type VersionChanges = z.infer<typeof versionChanges>;

const changes = versionChanges.nullable().describe('Against the version that serves; null while none does');

export const versionDetail = z
  .object({
    ...versionRecord.shape,
    manifest: manifestForm,
    migrations: z.array(declaredMigration),
    egress: z.array(z.string()),
    changes,
  })
  .meta({ id: 'VerticalVersionDetail' });
export type VersionDetail = z.infer<typeof versionDetail>;

export const versionVerdict = z.object({ version: versionRecord, changes }).meta({ id: 'VersionVerdict' });
export type VersionVerdict = z.infer<typeof versionVerdict>;

/** There is one channel (spec 3.4). */
export const channelName = z.enum(['prod']);

export const channelRecord = z
  .object({
    channel: channelName,
    vertical: slug,
    version: z.string().nullable().describe('What serves; null before the first promotion'),
    id: versionId.nullable(),
    promotedAt: timestamp.nullable(),
    etag,
  })
  .meta({ id: 'Channel' });
export type ChannelRecord = z.infer<typeof channelRecord>;

export const deployment = z
  .object({ ...versionVerdict.shape, promoted: z.boolean().describe('Whether it serves now') })
  .meta({ id: 'Deployment' });
export type Deployment = z.infer<typeof deployment>;

export const instanceRecord = z
  .object({
    scope: scopeId,
    tenant: tenantId,
    slug,
    name: z.string(),
    kind: scopeKind,
    status: scopeStatus,
    version: z.string().nullable().describe('What it runs on; null while nothing serves'),
    bound: z.boolean().describe('True for a version of its own, false where it follows prod'),
  })
  .meta({ id: 'Instance' });
export type InstanceRecord = z.infer<typeof instanceRecord>;

export const listingRecord = z
  .object({
    vertical: slug,
    tier: listingTier,
    title: z.string(),
    summary: z.string(),
    description: z.string(),
    website: z.string().nullable(),
    request: z
      .object({
        tier: listingTier,
        note: z.string().nullable(),
        status: z.enum(['open', 'granted', 'declined', 'withdrawn']),
        requestedBy: requester,
        requestedAt: timestamp,
        settledAt: timestamp.nullable(),
      })
      .nullable()
      .describe('The latest request to be shown to more'),
    updatedAt: timestamp,
    etag,
  })
  .meta({ id: 'Listing' });
export type ListingRecord = z.infer<typeof listingRecord>;

export const installBlockRecord = z
  .object({
    vertical: slug,
    blocked: z.boolean(),
    reason: z.string().nullable(),
    by: z
      .enum(['platform', 'owner'])
      .nullable()
      .describe("A block of the platform's is lifted by staff only"),
    since: timestamp.nullable(),
    etag,
  })
  .meta({ id: 'InstallBlock' });
export type InstallBlockRecord = z.infer<typeof installBlockRecord>;

export const egressReport = z
  .object({
    vertical: slug,
    hours: z.int(),
    limit: z.int(),
    sampled: z.boolean().describe('Whether only a part of the calls was looked at'),
    truncated: z.boolean().describe('Whether there was more than the limit'),
    versions: z.array(
      z.object({
        version: z.string(),
        declared: z.array(z.string()),
        observed: z.array(
          z.object({
            host: z.string(),
            calls: z.int().min(0),
            lastSeenAt: timestamp,
            declared: z.boolean().describe('Whether the version said that it would call it'),
          }),
        ),
      }),
    ),
  })
  .meta({ id: 'EgressReport' });
export type EgressReport = z.infer<typeof egressReport>;
