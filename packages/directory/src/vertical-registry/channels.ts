/** The one channel of a vertical, `prod`, and what is promoted to it (spec 3.4). */
import { PlatformError, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { Actor } from '../actors.ts';
import type { ChannelRecord } from '../declarations/vertical-records.ts';
import { channelsList, channelsPromote } from '../declarations/verticals.ts';
import { type AuditEntry, type ChangeContext, delegated, planned, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { targetOf } from './operations.ts';
import { requireServable } from './reviews.ts';
import { changesAgainstServing } from './version-diff.ts';
import {
  loadContent,
  loadVersion,
  requireOneOf,
  requireVersion,
  type VersionRow,
  versionOfRow,
} from './versions-store.ts';
import { loadVertical, requireVertical, updateVertical, type VerticalRow } from './verticals-store.ts';

export const readChannels = read(channelsList, ({ db }, { params, actor }) => ({
  value: { items: [channelOf(db, requireVertical(db, actor, params.slug))] },
}));

/** What the runtime is to serve. */
export interface Serving {
  readonly vertical: string;
  readonly id: string;
  readonly version: string;
  readonly script: string;
}

/** With the tags that the vertical had, for the case that the runtime refuses. */
interface PreparedPromotion extends Serving {
  readonly before: Pick<VerticalRow, 'promotion' | 'revision'>;
}

/** A version that the runtime has is made to serve there first; one that was only registered has nowhere to serve. */
export const promoteVersion = delegated<typeof channelsPromote, PreparedPromotion, { readonly id: string }>(
  channelsPromote,
  {
    begin: (context, { params, body, actor, ifMatch }) => {
      const { db } = context;
      const vertical = requireVertical(db, actor, params.slug);
      requireOneOf(body, ['version', 'id']);
      const version = requireVersion(db, vertical.slug, body);
      requireMatch(ifMatch, String(vertical.promotion), context.resumes);
      if (version.id === vertical.serving) {
        const value = channelOf(db, vertical);
        return { change: { status: 200, value, etag: value.etag, audit: null } };
      }
      requirePromotable(db, actor, vertical, version, body);
      const audit = promotionAudit(db, vertical, version);
      if (version.uploadedAtMs !== null) {
        const { promotion, revision } = vertical;
        // From here on a second promotion with the same tag is refused.
        updateVertical(db, { ...vertical, promotion: context.revision, revision: context.revision });
        return { intent: audit, prepared: { ...servingOf(version), before: { promotion, revision } } };
      }
      promote(context, vertical, version);
      return { change: { ...answer(db, vertical.slug), audit, rerouted: true } };
    },
    settle: (context, { params }, { id }) => {
      const { db } = context;
      const vertical = loadVertical(db, params.slug);
      if (!vertical) throw new TypeError('a vertical is never deleted');
      const version = requireVersion(db, vertical.slug, { id });
      const audit = promotionAudit(db, vertical, version);
      promote(context, vertical, version);
      return { ...answer(db, vertical.slug), audit, rerouted: true };
    },
    undo: ({ db, intent }, { params }, { before }) => {
      const vertical = loadVertical(db, params.slug);
      if (vertical?.promotion === intent) updateVertical(db, { ...vertical, ...before });
    },
  },
);

/**
 * What promoting would change, and for how many. Nobody has to say beforehand that they know of the migrations: that is
 * what they are told here.
 */
export const planPromotion = planned<typeof channelsPromote>(
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
      // Who follows what serves already is moved nowhere.
      instances: isServing ? 0 : (counted?.following ?? 0),
      bound: counted?.bound ?? 0,
      uploaded: !isServing && version.uploadedAtMs !== null,
    };
  },
);

/** The scopes of a vertical that follow prod, and those that do not; of one tenant, where one is named. */
export const FOLLOWING = `SELECT count(*) - count(b.version) AS following, count(b.version) AS bound
   FROM scopes s LEFT JOIN scope_versions b ON b.scope = s.id
   WHERE s.vertical = ? AND (? IS NULL OR s.tenant = ?) AND s.status <> 'reaped'`;

/**
 * @throws PlatformError what {@link requireServable} throws; `conflict`, reason `migrations_changed`, where the
 * migrations differ from those that serve and nobody said that they know.
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
    `Its migrations differ from those of ${changes.serving}: ${added.length} added, ${changed.length} changed, ${removed.length} gone. Say that you know with acknowledgeMigrations.`,
    { reason: 'migrations_changed' },
  );
}

/** Writes down what serves from now on. */
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

function answer(db: SqlDatabase, slug: string) {
  const vertical = loadVertical(db, slug);
  if (!vertical) throw new TypeError('a vertical is never deleted');
  const value = channelOf(db, vertical);
  return { status: 200, value, etag: value.etag } as const;
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
