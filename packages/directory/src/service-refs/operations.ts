/** Lists which runtime script is which version of which vertical. Needs no telemetry (spec 4.3.12). */
import { cutPage, pageOf, pageQuery, slug, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import { script, tag } from '../declarations/observability.ts';
import { defineFeature } from '../lib/feature.ts';
import { read } from '../lib/handlers.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';
import { archiveScript, servingScript } from './script-names.ts';

const serviceRef = z
  .object({
    script,
    kind: z.enum(['serving', 'archive']),
    vertical: slug,
    version: z.string(),
    label: z.string().describe('For people: the name and the version'),
  })
  .meta({ id: 'ServiceRef' });

export type ServiceRef = z.infer<typeof serviceRef>;

interface RefRow {
  readonly script: string;
  readonly kind: ServiceRef['kind'];
  readonly vertical: string;
  readonly name: string;
  readonly version: string;
}

export const serviceRefsList = adminOperation({
  name: 'service-refs.list',
  summary: 'List which script is which version of which vertical',
  description:
    "By script: for each vertical its serving script, once a version serves, and one archive script for each version. A read of the directory: it needs no telemetry. A builder sees its own tenant's.",
  tag,
  method: 'GET',
  path: '/service-refs',
  input: {
    query: z.strictObject({
      tenant: tenantId.optional().describe('Only verticals that this tenant owns'),
      ...pageQuery,
    }),
  },
  output: pageOf(serviceRef),
  builder: 'own-tenant',
});

const readServiceRefs = /* @__PURE__ */ read(serviceRefsList, ({ db }, { query }) => {
  const { sql, params } = serviceRefsPage(query);
  const rows = db.all<RefRow>(sql, ...params);
  return { value: cutPage(rows, query.limit, (row) => row.script, refOfRow) };
});

/**
 * Merges the serving and the archive scripts. Over all verticals the archive scripts are read along the index of their
 * names, and the limit ends the read; for one tenant they are looked up vertical by vertical.
 */
export function serviceRefsPage(filter: PageRequest & { readonly tenant?: string | undefined }): Statement {
  const where = { 'v.owner_tenant': filter.tenant };
  const serving = pageStatement(
    {
      select: `SELECT v.slug AS script, 'serving' AS kind, v.slug AS vertical, v.name, r.version
        FROM verticals v CROSS JOIN vertical_versions r ON r.id = v.serving`,
      where,
      key: 'v.slug',
      order: 'ASC',
    },
    filter,
  );
  const tables =
    filter.tenant === undefined
      ? 'vertical_versions r CROSS JOIN verticals v ON v.slug = r.vertical'
      : 'verticals v CROSS JOIN vertical_versions r ON r.vertical = v.slug';
  const archived = pageStatement(
    {
      select: `SELECT r.script, 'archive' AS kind, v.slug AS vertical, v.name, r.version FROM ${tables}`,
      where,
      key: 'r.script',
      order: 'ASC',
    },
    filter,
  );
  return {
    sql: `SELECT * FROM (${serving.sql}) UNION ALL SELECT * FROM (${archived.sql}) ORDER BY script LIMIT ?`,
    params: [...serving.params, ...archived.params, filter.limit + 1],
  };
}

function refOfRow({ kind, vertical, name, version }: RefRow): ServiceRef {
  const isServing = kind === 'serving';
  return {
    script: isServing ? servingScript(vertical) : archiveScript(vertical, version),
    kind,
    vertical,
    version,
    label: `${name} ${version}${isServing ? ' (serving)' : ''}`,
  };
}

export const serviceRefsFeature = /* @__PURE__ */ defineFeature({ operations: [readServiceRefs] });
