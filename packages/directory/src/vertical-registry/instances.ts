/** The scopes of a vertical, with the version that each one runs on. */

import { cutPage, pageOf, pageQuery } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import type { InstanceRecord } from '../declarations/vertical-records.ts';
import { instanceRecord } from '../declarations/vertical-records.ts';
import { params, tag } from '../declarations/verticals.ts';
import { read } from '../lib/handlers.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';
import { requireVertical } from './verticals-store.ts';

type InstanceRow = Omit<InstanceRecord, 'bound'> & { readonly bound: 0 | 1 };

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

export const readInstances = /* @__PURE__ */ read(verticalsInstances, ({ db }, { params, query, actor }) => {
  const { slug } = requireVertical(db, actor, params.slug);
  const tenant = actor.kind === 'builder' ? actor.tenant : undefined;
  const { sql, params: bound } = instancesPage({ ...query, vertical: slug, tenant });
  const rows = db.all<InstanceRow>(sql, ...bound);
  return {
    value: cutPage(
      rows,
      query.limit,
      (row) => row.scope,
      (row) => ({ ...row, bound: row.bound === 1 }),
    ),
  };
});

export interface InstanceFilter extends PageRequest {
  readonly vertical: string;
  readonly tenant?: string | undefined;
}

export function instancesPage(filter: InstanceFilter): Statement {
  return pageStatement(
    {
      select: `SELECT s.id AS scope, s.tenant, s.slug, s.name, s.kind, s.status, r.version,
        b.version IS NOT NULL AS bound
        FROM scopes s JOIN verticals v ON v.slug = s.vertical LEFT JOIN scope_versions b ON b.scope = s.id
        LEFT JOIN vertical_versions r ON r.id = coalesce(b.version, v.serving)`,
      where: { 's.vertical': filter.vertical, 's.tenant': filter.tenant },
      key: 's.id',
      order: 'ASC',
    },
    filter,
  );
}
