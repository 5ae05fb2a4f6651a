/** The one channel of a vertical, `prod`, and promotion to it (spec 3.4). */
import { PlatformError, slug, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import type { Actor } from '../access/actors.ts';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation, dryRunQuery, planCount } from '../declarations/admin-operation.ts';
import type { ChannelRecord } from '../declarations/vertical-records.ts';
import {
  channelName,
  channelRecord,
  versionChanges,
  versionRecord,
} from '../declarations/vertical-records.ts';
import { acknowledgeMigrations, params, tag, versionChoice } from '../declarations/verticals.ts';
import { type AuditEntry, type ChangeContext, delegated, planned, read } from '../lib/handlers.ts';
import { targetOf } from './operations.ts';
import { changesAgainstServing, requireServable } from './reviews.ts';
import {
  loadContent,
  loadVersion,
  requireOneOf,
  requireVersion,
  type VersionRow,
  versionOfRow,
} from './versions-store.ts';
import { loadVertical, requireVertical, updateVertical, type VerticalRow } from './verticals-store.ts';

const promotionPlan = z
  .object({
    dryRun: z.literal(true),
    channel: channelRecord.describe('The version that serves now'),
    version: versionRecord.describe('The version that would serve'),
    changes: versionChanges.nullable().describe('Against the version that serves; null while none does'),
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

export const channelsList = adminOperation({
  name: 'channels.list',
  summary: "List a vertical's channels",
  description: 'There is one: prod.',
  tag,
  method: 'GET',
  path: '/verticals/:slug/channels',
  input: { params },
  output: z.object({ items: z.array(channelRecord) }),
  builder: 'own-tenant',
  pushToken: 'deploy',
});

export const readChannels = /* @__PURE__ */ read(channelsList, ({ db }, { params, actor }) => ({
  value: { items: [channelOf(db, requireVertical(db, actor, params.slug))] },
}));

/** The version that the runtime is to serve. */
export interface Serving {
  readonly vertical: string;
  readonly id: string;
  readonly version: string;
  readonly script: string;
}

/** With the vertical's tags before the call, in case the runtime refuses. */
interface PreparedPromotion extends Serving {
  readonly before: Pick<VerticalRow, 'promotion' | 'revision'>;
}

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
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  etag: true,
  problems: ['forbidden', 'invalid_transition', 'unsupported', 'runtime_fault'],
});

/** An uploaded version is first served by the runtime; a version that was only registered has no runtime to ask. */
export const promoteVersion = /* @__PURE__ */ delegated<
  typeof channelsPromote,
  PreparedPromotion,
  { readonly id: string }
>(channelsPromote, {
  begin: (context, { params, body, actor, ifMatch }) => {
    const { db } = context;
    const vertical = requireVertical(db, actor, params.slug);
    requireOneOf(body, ['version', 'id']);
    const version = requireVersion(db, vertical.slug, body);
    requireMatch(ifMatch, String(vertical.promotion), context.resumes);
    if (version.id === vertical.serving) {
      return { change: { value: channelOf(db, vertical), audit: null } };
    }
    requirePromotable(db, actor, vertical, version, body);
    const audit = promotionAudit(db, vertical, version);
    if (version.uploadedAtMs !== null) {
      const { promotion, revision } = vertical;
      // From now on a second promotion with the same tag is refused.
      updateVertical(db, { ...vertical, promotion: context.revision, revision: context.revision });
      return { intent: audit, prepared: { ...servingOf(version), before: { promotion, revision } } };
    }
    promote(context, vertical, version);
    return { change: { value: channelOf(db, requireLoaded(db, vertical.slug)), audit, rerouted: true } };
  },
  settle: (context, { params }, { id }) => {
    const { db } = context;
    const vertical = requireLoaded(db, params.slug);
    const version = requireVersion(db, vertical.slug, { id });
    const audit = promotionAudit(db, vertical, version);
    promote(context, vertical, version);
    return { value: channelOf(db, requireLoaded(db, vertical.slug)), audit, rerouted: true };
  },
  undo: ({ db, intent }, { params }, { before }) => {
    const vertical = loadVertical(db, params.slug);
    if (vertical?.promotion === intent) updateVertical(db, { ...vertical, ...before });
  },
});

/**
 * The changes of a promotion, and for how many scopes. The plan needs no acknowledgement of the migrations: it is how the
 * caller learns of them.
 */
export const planPromotion = /* @__PURE__ */ planned<typeof channelsPromote>(
  channelsPromote,
  ({ db }, { params, body, actor, ifMatch }) => {
    const vertical = requireVertical(db, actor, params.slug);
    requireOneOf(body, ['version', 'id']);
    const version = requireVersion(db, vertical.slug, body);
    requireMatch(ifMatch, String(vertical.promotion));
    const isServing = version.id === vertical.serving;
    if (!isServing) requireServable(db, actor, vertical, version);
    const changes = changesAgainstServing(db, vertical, loadContent(db, version.id));
    const own = actor.kind === 'builder' ? actor.tenant : null;
    const counted = db.get<{ following: number; bound: number }>(FOLLOWING, vertical.slug, own, own);
    return {
      dryRun: true,
      channel: channelOf(db, vertical),
      version: versionOfRow(version, vertical),
      changes,
      acknowledge: changes?.migrations.differs === true,
      // Scopes that follow prod already run on the version that serves.
      instances: isServing ? 0 : (counted?.following ?? 0),
      bound: counted?.bound ?? 0,
      uploaded: !isServing && version.uploadedAtMs !== null,
    };
  },
);

/** Counts the scopes of a vertical that follow prod, and those that do not; of one tenant, where one is named. */
export const FOLLOWING = `SELECT count(*) - count(b.version) AS following, count(b.version) AS bound
   FROM scopes s LEFT JOIN scope_versions b ON b.scope = s.id
   WHERE s.vertical = ? AND (? IS NULL OR s.tenant = ?) AND s.status <> 'reaped'`;

/**
 * @throws PlatformError what {@link requireServable} throws; `conflict`, reason `migrations_changed`, where the
 * migrations differ from those that serve and the caller did not acknowledge them.
 */
export function requirePromotable(
  db: SqlDatabase,
  actor: Actor,
  vertical: VerticalRow,
  version: VersionRow,
  { acknowledgeMigrations }: { readonly acknowledgeMigrations: boolean },
): void {
  requireServable(db, actor, vertical, version);
  const changes = changesAgainstServing(db, vertical, loadContent(db, version.id));
  if (!changes?.migrations.differs || acknowledgeMigrations) return;
  const { added, removed, changed } = changes.migrations;
  throw new PlatformError(
    'conflict',
    `Its migrations differ from those of ${changes.serving}: ${added.length} added, ${changed.length} changed, ${removed.length} gone. Acknowledge that with acknowledgeMigrations.`,
    { reason: 'migrations_changed' },
  );
}

/** Makes a version the one that serves. */
export function promote(
  { db, now, revision }: Pick<ChangeContext, 'db' | 'now' | 'revision'>,
  vertical: VerticalRow,
  version: VersionRow,
): void {
  const nowMs = now();
  updateVertical(db, {
    ...vertical,
    serving: version.id,
    promotedAtMs: nowMs,
    promotion: revision,
    revision,
    updatedAtMs: nowMs,
  });
}

export function servingOf({ vertical, id, version, script }: VersionRow): Serving {
  return { vertical, id, version, script };
}

function promotionAudit(db: SqlDatabase, vertical: VerticalRow, version: VersionRow): AuditEntry {
  const { version: before } = channelOf(db, vertical);
  return {
    target: targetOf(vertical, version.id),
    before: { channel: 'prod', version: before },
    after: { channel: 'prod', version: version.version },
  };
}

function requireLoaded(db: SqlDatabase, slug: string): VerticalRow {
  const vertical = loadVertical(db, slug);
  if (vertical) return vertical;
  throw new TypeError('a vertical is never deleted');
}

function channelOf(db: SqlDatabase, vertical: VerticalRow): ChannelRecord {
  const serving = vertical.serving === null ? undefined : loadVersion(db, vertical.slug, vertical.serving);
  return {
    channel: 'prod',
    vertical: vertical.slug,
    version: serving?.version ?? null,
    id: serving?.id ?? null,
    promotedAt: vertical.promotedAtMs === null ? null : toTimestamp(vertical.promotedAtMs),
    etag: String(vertical.promotion),
  };
}
