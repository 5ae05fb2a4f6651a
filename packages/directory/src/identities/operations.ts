/** The operations of the identities of a tenant. */

import { lineOfText, PlatformError, pageOf, pageQuery, tenantId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import type { Actor } from '../access/actors.ts';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import {
  type IdentityRecord,
  identityId,
  identityKind,
  identityRecord,
  issuer,
  value,
} from '../declarations/tenants.ts';
import { defineFeature } from '../lib/feature.ts';
import { type AuditEntry, type CallOf, type Change, change, read } from '../lib/handlers.ts';
import { loadTenant, requireOpenTenant, requireTenant } from '../tenants/store.ts';
import { parseIssuer } from './issuer.ts';
import { identityMigrations } from './schema.ts';
import {
  deleteIdentity,
  type IdentityRow,
  identityOfRow,
  insertIdentity,
  listIdentities,
  loadForeign,
  loadIdentity,
  requireIdentity,
} from './store.ts';

const tag = 'Tenants';

const params = z.strictObject({ tenant: tenantId });

const ID_PREFIX = 'tid';

export const identitiesList = adminOperation({
  name: 'identities.list',
  summary: 'List the identity pools and organizations of a tenant',
  description: 'Oldest first.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/identities',
  input: { params, query: z.strictObject(pageQuery) },
  output: pageOf(identityRecord),
  success: 200,
  builder: 'none',
  audit: 'none',
  problems: ['not_found'],
});

export const readIdentities = /* @__PURE__ */ read(identitiesList, ({ db }, { params, query }) => {
  requireTenant(db, params.tenant);
  return { value: listIdentities(db, { ...query, tenant: params.tenant }) };
});

export const identitiesAdd = adminOperation({
  name: 'identities.add',
  summary: 'Say that an issuer, a pool or an organization belongs to a tenant',
  description:
    'Each belongs to one tenant of the platform at a time; a whole issuer leaves nothing of it to another. Idempotent: the same one with the same label answers the record that is there (200).',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/identities',
  input: {
    params,
    body: z.strictObject({
      kind: identityKind,
      issuer,
      value: value.optional(),
      label: lineOfText(200).describe('For people').optional(),
    }),
  },
  output: identityRecord,
  success: 201,
  builder: 'none',
  audit: 'audit',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

export const addIdentity = /* @__PURE__ */ change(
  identitiesAdd,
  (context, { params, body, ifMatch, actor }) => {
    const { db } = context;
    const tenant = requireOpenTenant(db, params.tenant);
    const issuer = parseIssuer(body.issuer);
    const place = { ...issuer, tenant: tenant.id, kind: body.kind, value: requireValue(body) };
    const found = loadIdentity(db, place);
    const foreign = found && found.tenant !== tenant.id ? found : loadForeign(db, place);
    if (foreign) throw taken(db, foreign, actor);
    requireMatch(ifMatch, found ? String(found.revision) : null);
    if (found) {
      if (found.label !== (body.label ?? null) || found.issuer !== body.issuer)
        throw new PlatformError('conflict', 'This tenant has it already, with another label or spelling.', {
          reason: 'identity_exists',
        });
      return answer(200, found, null);
    }
    const row: IdentityRow = {
      id: context.newId(ID_PREFIX),
      ...place,
      label: body.label ?? null,
      revision: context.revision,
      createdAtMs: context.now(),
    };
    insertIdentity(db, row);
    return answer(201, row, { target: targetOf(row), before: null, after: auditFields(row) });
  },
);

export const identitiesRemove = adminOperation({
  name: 'identities.remove',
  summary: 'Say that it no longer belongs to the tenant',
  tag,
  method: 'DELETE',
  path: '/tenants/:tenant/identities/:identity',
  input: { params: z.strictObject({ tenant: tenantId, identity: identityId }) },
  output: z.null(),
  success: 204,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});

export const removeIdentity = /* @__PURE__ */ change(identitiesRemove, ({ db }, { params, ifMatch }) => {
  const before = requireIdentity(db, params);
  requireMatch(ifMatch, String(before.revision));
  deleteIdentity(db, before.id);
  const audit = { target: targetOf(before), before: auditFields(before), after: null };
  return { status: 204, value: null, audit };
});

/** @throws PlatformError `validation_failed` for a value of a whole issuer, and for a pool or organization without one. */
function requireValue({ kind, value }: CallOf<typeof identitiesAdd>['body']): string {
  if ((kind === 'issuer') === (value === undefined)) return value ?? '';
  const message = kind === 'issuer' ? 'is not part of a whole issuer' : `must say which ${kind}`;
  throw new PlatformError('validation_failed', `The body is not valid. value: ${message}.`, {
    errors: [{ path: 'value', message }],
  });
}

/** Only staff learn the other tenant, because they settle the conflict. A builder's token may be in any script. */
function taken(db: SqlDatabase, { tenant }: IdentityRow, actor: Actor): PlatformError {
  const whose =
    actor.kind === 'staff' ? `the tenant ${loadTenant(db, tenant)?.slug ?? tenant}` : 'another tenant';
  return new PlatformError('conflict', `This, or what it is part of, belongs to ${whose}.`, {
    reason: 'identity_taken',
  });
}

function answer(status: 200 | 201, row: IdentityRow, audit: AuditEntry | null): Change<IdentityRecord> {
  const value = identityOfRow(row);
  return { status, value, etag: value.etag, audit };
}

function targetOf(row: IdentityRow): AuditEntry['target'] {
  return { tenant: row.tenant, scope: null, vertical: null, other: row.id };
}

function auditFields(row: IdentityRow): NonNullable<AuditEntry['after']> {
  const { kind, issuer, value, label } = identityOfRow(row);
  return { kind, issuer, value, label };
}

export const identitiesFeature = /* @__PURE__ */ defineFeature({
  operations: [readIdentities, addIdentity, removeIdentity],
  migrations: [identityMigrations],
});
