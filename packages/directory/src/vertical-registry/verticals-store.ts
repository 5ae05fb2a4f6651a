/** The verticals in SQL, with their listings and blocks. */
import { PlatformError, type TenantId } from '@freehold/contracts';
import {
  boolean,
  computed,
  defineTable,
  hidden,
  integer,
  json,
  nullable,
  type RowOf,
  revision,
  type SqlDatabase,
  text,
  time,
  unread,
} from '@freehold/store';
import type { Actor } from '../access/actors.ts';
import type { ListingRecord, ListingTier, VerticalRecord } from '../declarations/vertical-records.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';

const versionOf = (column: string) =>
  computed(`(SELECT version FROM vertical_versions WHERE id = verticals.${column})`, nullable(text()));

const columns = {
  slug: text(),
  name: text(),
  ownerTenant: nullable(text<TenantId>()),
  tier: text<ListingTier>(),
  /** The id of the version that is compiled in. */
  builtIn: hidden(nullable(text())),
  /** The id of the version on prod. */
  serving: hidden(nullable(text())),
  promotedAtMs: hidden(nullable(time())),
  /** The admin-log row of the last promotion; 0 before there was one. */
  promotion: hidden(integer()),
  createdAtMs: time(),
  updatedAtMs: time(),
  revision: revision(),
};
const verticals = defineTable('verticals', ['slug'], columns);
export type VerticalRow = RowOf<typeof verticals>;

export const loadVertical = verticals.get;
export const insertVertical = verticals.insert;
export const updateVertical = verticals.updating(
  ...([
    'name',
    'tier',
    'builtIn',
    'serving',
    'promotedAtMs',
    'promotion',
    'revision',
    'updatedAtMs',
  ] as const),
);

/** The table with the columns of other tables that a record shows. */
const shown = defineTable('verticals', ['slug'], {
  ...columns,
  builtInVersion: versionOf('built_in'),
  servingVersion: versionOf('serving'),
  blocked: computed('EXISTS (SELECT 1 FROM install_blocks WHERE vertical = verticals.slug)', boolean()),
});
const recordOf = shown.recording<
  Omit<VerticalRecord, 'builtIn' | 'serving'> & Pick<RowOf<typeof shown>, 'builtInVersion' | 'servingVersion'>
>();

/**
 * The vertical, for actors who may work on it: staff, services, and builders of the tenant that owns it.
 * @throws PlatformError `not_found`, reason `unknown_vertical`, also for a builder whose tenant does not own it.
 */
export function requireVertical(db: SqlDatabase, actor: Actor, slug: string): VerticalRow {
  const row = loadVertical(db, slug);
  if (row && (actor.kind !== 'builder' || row.ownerTenant === actor.tenant)) return row;
  throw unknownVertical();
}

function unknownVertical(): PlatformError {
  return new PlatformError('not_found', 'There is no such vertical.', { reason: 'unknown_vertical' });
}

/** The record of a vertical. @throws TypeError for one that is not there: our bug. */
export function shownVertical(db: SqlDatabase, slug: string): VerticalRecord {
  const row = shown.get(db, slug);
  if (!row) throw new TypeError('a vertical that was just there is gone');
  return verticalOfRow(row);
}

interface VerticalFilter extends PageRequest {
  readonly ownerTenant?: string | undefined;
  /** The verticals that this tenant owns, and published ones. */
  readonly visibleTo?: string | undefined;
}

// Two index ranges joined by their keys; an OR between the columns would make the planner scan the whole table.
const VISIBLE = `slug IN (SELECT slug FROM verticals WHERE owner_tenant = ?
  UNION ALL SELECT slug FROM verticals WHERE tier = 'published')`;

export const { statement: verticalsPage, list: listVerticals } = definePages({
  from: shown,
  where: ({ ownerTenant }: VerticalFilter) => ({ owner_tenant: ownerTenant }),
  and: ({ visibleTo }) => (visibleTo === undefined ? [] : [{ sql: VISIBLE, params: [visibleTo] }]),
  key: 'slug',
  item: verticalOfRow,
});

function verticalOfRow(row: RowOf<typeof shown>): VerticalRecord {
  const { builtInVersion: builtIn, servingVersion: serving, ...record } = recordOf(row);
  return { ...record, builtIn, serving };
}

/** The listings of verticals. */
export const listings = defineTable('vertical_listings', ['vertical'], {
  vertical: unread(text()),
  title: text(),
  summary: text(),
  description: text(),
  website: nullable(text()),
  request: nullable(json<NonNullable<ListingRecord['request']>>()),
  revision: integer(),
  updatedAtMs: time(),
});
export type ListingRow = RowOf<typeof listings>;
export const saveListing = listings.saving(
  ...(['title', 'summary', 'description', 'website', 'request', 'revision', 'updatedAtMs'] as const),
);

/** The verticals of which new instances are refused. */
export const blocks = defineTable('install_blocks', ['vertical'], {
  vertical: unread(text()),
  reason: text(),
  blockedBy: text<'platform' | 'owner'>(),
  revision: integer(),
  sinceMs: time(),
});
export type BlockRow = RowOf<typeof blocks>;
export const saveBlock = blocks.saving('reason', 'blockedBy', 'revision');
