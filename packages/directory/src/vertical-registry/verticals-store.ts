/** The verticals in SQL. */
import { cutPage, type Page, PlatformError, type TenantId, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { Actor } from '../access/actors.ts';
import type { ListingTier, VerticalRecord } from '../declarations/vertical-records.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';

export interface VerticalRow {
  readonly slug: string;
  readonly name: string;
  readonly ownerTenant: TenantId | null;
  readonly tier: ListingTier;
  /** The id of the version that is compiled in. */
  readonly builtIn: string | null;
  /** The id of the version on prod. */
  readonly serving: string | null;
  readonly promotedAtMs: number | null;
  /** The admin-log row of the last promotion; 0 before there was one. */
  readonly promotion: number;
  readonly revision: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** A row with what its record shows of other tables. */
interface ShownRow extends VerticalRow {
  readonly builtInVersion: string | null;
  readonly servingVersion: string | null;
  readonly blocked: 0 | 1;
}

const COLUMNS = `slug, name, owner_tenant AS ownerTenant, tier, built_in AS builtIn, serving,
  promoted_at AS promotedAtMs, promotion, revision, created_at AS createdAtMs, updated_at AS updatedAtMs`;
const versionOf = (column: string): string =>
  `(SELECT version FROM vertical_versions WHERE id = verticals.${column})`;
const SHOWN = `SELECT ${COLUMNS}, ${versionOf('built_in')} AS builtInVersion, ${versionOf('serving')} AS servingVersion,
  EXISTS (SELECT 1 FROM install_blocks WHERE vertical = verticals.slug) AS blocked FROM verticals`;

export function loadVertical(db: SqlDatabase, slug: string): VerticalRow | undefined {
  return db.get<VerticalRow>(`SELECT ${COLUMNS} FROM verticals WHERE slug = ?`, slug);
}

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

export function insertVertical(db: SqlDatabase, row: VerticalRow): void {
  db.run(
    `INSERT INTO verticals (slug, name, owner_tenant, tier, built_in, serving, promoted_at, promotion, revision,
       created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[row.slug, row.name, row.ownerTenant, row.tier, row.builtIn, row.serving, row.promotedAtMs],
    ...[row.promotion, row.revision, row.createdAtMs, row.updatedAtMs],
  );
}

export function updateVertical(db: SqlDatabase, row: VerticalRow): void {
  db.run(
    `UPDATE verticals SET name = ?, tier = ?, built_in = ?, serving = ?, promoted_at = ?, promotion = ?,
       revision = ?, updated_at = ? WHERE slug = ?`,
    ...[row.name, row.tier, row.builtIn, row.serving, row.promotedAtMs, row.promotion],
    ...[row.revision, row.updatedAtMs, row.slug],
  );
}

/** The record of a vertical. @throws TypeError for one that is not there: our bug. */
export function shownVertical(db: SqlDatabase, slug: string): VerticalRecord {
  const row = db.get<ShownRow>(`${SHOWN} WHERE slug = ?`, slug);
  if (!row) throw new TypeError('a vertical that was just there is gone');
  return verticalOfRow(row);
}

interface VerticalFilter extends PageRequest {
  readonly ownerTenant?: string | undefined;
  /** The verticals that this tenant owns, and published ones. */
  readonly visibleTo?: string | undefined;
}

export function verticalsPage(filter: VerticalFilter): Statement {
  const { ownerTenant, visibleTo } = filter;
  // Two index ranges joined by their keys; an OR between the columns would have the planner walk the whole table.
  const visible = {
    sql: `slug IN (SELECT slug FROM verticals WHERE owner_tenant = ?
      UNION ALL SELECT slug FROM verticals WHERE tier = 'published')`,
    params: [visibleTo ?? null],
  };
  return pageStatement(
    {
      select: SHOWN,
      where: { owner_tenant: ownerTenant },
      and: visibleTo === undefined ? [] : [visible],
      key: 'slug',
      order: 'ASC',
    },
    filter,
  );
}

export function listVerticals(db: SqlDatabase, filter: VerticalFilter): Page<VerticalRecord> {
  const { sql, params } = verticalsPage(filter);
  return cutPage(db.all<ShownRow>(sql, ...params), filter.limit, (row) => row.slug, verticalOfRow);
}

function verticalOfRow(row: ShownRow): VerticalRecord {
  return {
    slug: row.slug,
    name: row.name,
    ownerTenant: row.ownerTenant,
    tier: row.tier,
    builtIn: row.builtInVersion,
    serving: row.servingVersion,
    blocked: row.blocked === 1,
    createdAt: toTimestamp(row.createdAtMs),
    updatedAt: toTimestamp(row.updatedAtMs),
    etag: String(row.revision),
  };
}
