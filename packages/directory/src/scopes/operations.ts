/** The operations of scopes in the directory. Their effects: `host-admin-scopes.ts`. */
import {
  CONFIG_KEYS_MAX,
  configPatch,
  type DeliveryWarning,
  deliveryWarning,
  ID_PREFIXES,
  lineOfText,
  optionalLineOfText,
  PlatformError,
  pageOf,
  pageQuery,
  type ScopeId,
  slug,
  tenantId,
} from '@freehold/contracts';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { type ScopeRecord, scopeKind, scopeRecord, scopeStatus } from '../declarations/records.ts';
import { params, tag } from '../declarations/scopes.ts';
import { versionNumber } from '../declarations/vertical-records.ts';
import {
  type AuditEntry,
  type CallOf,
  type ChangeContext,
  delegated,
  type EndContext,
  read,
} from '../lib/handlers.ts';
import { requireActiveTenant, requireTenant } from '../tenants/store.ts';
import { recordMigration } from './migration-record.ts';
import {
  deleteScope,
  insertScope,
  listScopes,
  loadScopeBySlug,
  requireActiveScope,
  requireScope,
  type ScopeRow,
  scopeOfRow,
  updateScopeStatus,
} from './store.ts';

/** Bounded, because the names of all settings go into a row of the admin log, which is kept for ever. */
const config = configPatch.meta({ maxProperties: CONFIG_KEYS_MAX });

const filters = {
  vertical: slug.optional().describe('Only scopes of this vertical'),
  status: scopeStatus.optional().describe('Only scopes in this state'),
  version: versionNumber.optional().describe('Only scopes that run this version of their vertical'),
};

export const scopesConfigure = adminOperation({
  name: 'scopes.configure',
  summary: "Deliver settings to a scope's vertical",
  description:
    'Keys that are not named stay as they are; null removes one. The log keeps the names of the keys and never a value. When it is unknown whether the vertical took them (reason outcome_unknown), make the same call again.',
  tag,
  method: 'PUT',
  path: '/tenants/:tenant/scopes/:scope/configure',
  input: { params, body: z.strictObject({ config }) },
  output: z
    .object({
      keys: z.array(z.string()).describe('Every key that is now delivered'),
      warnings: z.array(deliveryWarning).describe('Steps of the vertical that need a look'),
    })
    .meta({ id: 'DeliveredConfig' }),
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: [
    'not_found',
    'conflict',
    'invalid_transition',
    'precondition_failed',
    'unsupported',
    'runtime_fault',
    'unavailable',
  ],
});

export const scopesFleet = adminOperation({
  name: 'scopes.fleet',
  summary: 'List the scopes of every tenant',
  tag,
  method: 'GET',
  path: '/scopes',
  input: {
    query: z.strictObject({
      tenant: tenantId.optional().describe('Only scopes of this tenant'),
      ...filters,
      ...pageQuery,
    }),
  },
  output: pageOf(scopeRecord),
  success: 200,
  builder: 'none',
  audit: 'none',
});

export const readFleet = /* @__PURE__ */ read(scopesFleet, ({ db }, { query }) => ({
  value: listScopes(db, query),
}));

export const scopesList = adminOperation({
  name: 'scopes.list',
  summary: "List a tenant's scopes",
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes',
  input: {
    params: z.strictObject({ tenant: tenantId }),
    query: z.strictObject({ ...filters, ...pageQuery }),
  },
  output: pageOf(scopeRecord),
  success: 200,
  builder: 'own-tenant',
  pushToken: 'deploy',
  audit: 'none',
  problems: ['not_found'],
});

export const readScopes = /* @__PURE__ */ read(scopesList, ({ db }, { params, query }) => {
  requireTenant(db, params.tenant);
  return { value: listScopes(db, { ...query, tenant: params.tenant }) };
});

export const scopesGet = adminOperation({
  name: 'scopes.get',
  summary: 'Get one scope',
  description:
    'Its version changes with its vertical too: the ETag is for If-Match, and no answer is ever 304.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope',
  input: { params },
  output: scopeRecord,
  success: 200,
  builder: 'own-tenant',
  pushToken: 'deploy',
  audit: 'none',
  etag: true,
  volatile: true,
  problems: ['not_found'],
});

export const readScope = /* @__PURE__ */ read(scopesGet, ({ db }, { params }) => {
  const scope = scopeOfRow(requireScope(db, params));
  return { value: scope, etag: scope.etag };
});

/** Settings for delivery: null removes one. */
type SettingsPatch = NonNullable<CallOf<typeof scopesProvision>['body']['config']>;

/** A scope that is being made, and its settings. */
export interface NewScope {
  readonly scope: ScopeRecord;
  readonly config: SettingsPatch | undefined;
  /** The version that serves, of which the vertical runs the migrations. */
  readonly version: string;
}

export const scopesProvision = adminOperation({
  name: 'scopes.provision',
  summary: 'Provision a scope',
  description:
    'Idempotent by slug within the tenant: the same name, vertical and kind answer the scope that is there (200), anything else is a conflict. owner and config count only until the scope is active: the directory does not keep them, a scope that is there is answered as it is, and settings are changed with scopes.configure. A provisioning that the vertical refused leaves nothing, and its slug is free. The same call resumes one that was interrupted, or whose outcome is unknown (reason outcome_unknown). The vertical must be known to this platform (reason unknown_vertical).',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes',
  input: {
    params: z.strictObject({ tenant: tenantId }),
    body: z.strictObject({
      slug,
      name: lineOfText(200),
      vertical: slug,
      owner: z
        .strictObject({ email: z.email().max(254).optional(), name: optionalLineOfText(200).optional() })
        .optional()
        .describe('The person for the owner seat. It counts only while the scope is being made'),
      config: config
        .optional()
        .describe('Settings to deliver to the vertical. They count only while the scope is being made'),
      kind: scopeKind.default('live'),
    }),
  },
  output: scopeRecord.extend({
    warnings: z
      .array(deliveryWarning)
      .optional()
      .describe('What the vertical says about the settings. Left out where it says nothing'),
  }),
  success: 201,
  builder: 'own-tenant',
  audit: 'audit',
  etag: true,
  problems: [
    'not_found',
    'conflict',
    'invalid_transition',
    'precondition_failed',
    'unsupported',
    'runtime_fault',
    'unavailable',
  ],
});

/**
 * Provisioning is journaled: the scope is inserted as `provisioning` before its vertical is asked, and becomes `active` with
 * the answer. After an interruption the same call resumes it with the same scope id; a vertical may be asked twice.
 */
export const provisionScope = /* @__PURE__ */ delegated<
  typeof scopesProvision,
  NewScope,
  { scope: string; version: string; warnings: DeliveryWarning[] }
>(scopesProvision, {
  begin: (context, call) => {
    const { db, facts, resumes } = context;
    const { params, body, ifMatch } = call;
    const tenant = requireTenant(db, params.tenant);
    const found = loadScopeBySlug(db, tenant.id, body.slug);
    requireMatch(ifMatch, found ? String(found.revision) : null, resumes);
    if (found?.status === 'reaped')
      throw new PlatformError('conflict', 'This slug was used before and is not used again.', {
        reason: 'slug_retired',
      });
    if (found) requireSameScope(found, call);
    if (found && found.status !== 'provisioning') {
      const value = scopeOfRow(found);
      return { change: { status: 200, value, etag: value.etag, audit: null } };
    }
    // A provisioning from before the suspension is finished: otherwise the scope could be neither used nor reaped.
    if (!(found && tenant.status === 'suspended')) requireActiveTenant(db, tenant.id);
    if (!facts.verticalKnown)
      throw new PlatformError('not_found', `This platform has no vertical called ${body.vertical}.`, {
        reason: 'unknown_vertical',
        errors: [{ path: 'vertical', message: 'names no vertical of this platform' }],
      });
    const row = found ?? newScope(context, call);
    if (found) bumpVersion(context, found);
    else insertScope(db, row);
    const config = settingsOfNewScope(body.config, facts.newScopeSettings);
    const intent: AuditEntry = {
      target: targetOf(row),
      before: found ? auditFields(found) : null,
      after: { ...auditFields(row), configKeys: Object.keys(config ?? {}).sort() },
    };
    // Read before the vertical is asked: what is promoted meanwhile leaves the scope pending, and never wrongly applied.
    const version =
      requireScope(db, { tenant: tenant.id, scope: row.id }).version ?? facts.unregisteredVersion;
    return { intent, prepared: { scope: scopeOfRow(row), config, version } };
  },
  settle: (context, { params }, { scope, version, warnings }) => {
    const before = requireScope(context.db, { tenant: params.tenant, scope });
    // Two calls may provision the same scope at once: the second finds it active and changes nothing.
    const isFirst = before.status === 'provisioning';
    const after: ScopeRow = isFirst
      ? { ...before, status: 'active', revision: context.revision, updatedAtMs: context.now() }
      : before;
    if (isFirst) {
      updateScopeStatus(context.db, after);
      recordMigration(context.db, { scope, version, problem: null }, context.now());
    }
    const value = { ...scopeOfRow(after), ...(warnings.length === 0 ? {} : { warnings }) };
    const audit = { target: targetOf(after), before: auditFields(before), after: auditFields(after) };
    return { status: isFirst ? 201 : 200, value, etag: value.etag, audit, rerouted: isFirst };
  },
  undo: (context, call, { scope }) => {
    if (isOnlyAttempt(context, scope)) deleteScope(context.db, scope.id);
    else restoreVersion(context, call, scope);
  },
});

/**
 * Settings pass through to the vertical. The log keeps the keys that were set, removed and delivered, and no value.
 *
 * The scope gets a new version when the delivery begins, so that a second call with the same tag is refused, and another
 * one at the end, because a reader in between has not seen the outcome.
 */
export const configureScope = /* @__PURE__ */ delegated<
  typeof scopesConfigure,
  ScopeRecord,
  { keys: string[]; warnings: DeliveryWarning[] }
>(scopesConfigure, {
  begin: (context, { params, body, ifMatch }) => {
    const row = requireScope(context.db, params);
    requireMatch(ifMatch, String(row.revision), context.resumes);
    requireActiveScope(context.db, params);
    bumpVersion(context, row);
    return {
      intent: { target: targetOf(row), before: null, after: keysOf(body.config) },
      prepared: scopeOfRow(row),
    };
  },
  settle: (context, { params, body }, { keys, warnings }) => {
    const row = requireScope(context.db, params);
    updateScopeStatus(context.db, { ...row, revision: context.revision, updatedAtMs: context.now() });
    // After another call in between, this caller has not seen the present scope. It gets the tag that it began with, which
    // matches nothing any more.
    const isAlone = row.revision === context.intent;
    return {
      status: 200,
      value: { keys, warnings },
      etag: String(isAlone ? context.revision : context.intent),
      // The delivered keys show a setting that the vertical removed by itself, such as a secret that no longer fits.
      audit: {
        target: targetOf(row),
        before: null,
        after: {
          ...keysOf(body.config),
          delivered: [...keys].sort(),
          ...(warnings.length === 0 ? {} : { warnings: warnings.map(({ code }) => code) }),
        },
      },
    };
  },
  undo: restoreVersion,
  // An earlier call that set other keys too stays material.
  supersedes: ({ body }, earlier) =>
    Object.values(earlier ?? {})
      .flat()
      .every((key) => typeof key === 'string' && Object.hasOwn(body.config, key)),
});

/** The target of a log row about this scope. */
export function targetOf(row: Pick<ScopeRow, 'id' | 'tenant' | 'vertical'>): AuditEntry['target'] {
  return { tenant: row.tenant, scope: row.id, vertical: row.vertical, other: null };
}

/** Gives the scope the version of the intent that is about to be logged. */
function bumpVersion(context: ChangeContext, row: ScopeRow): void {
  updateScopeStatus(context.db, { ...row, revision: context.revision });
}

/** Restores the version after a refusal of the vertical, unless another call has begun since. */
function restoreVersion(context: EndContext, _call: unknown, before: ScopeRecord): void {
  const row = requireScope(context.db, { tenant: before.tenant, scope: before.id });
  if (row.revision === context.intent)
    updateScopeStatus(context.db, { ...row, revision: Number(before.etag) });
}

/**
 * Whether a refused provisioning leaves nothing behind: no other call has tried, no earlier attempt of unknown outcome
 * exists, and no host name leads here. Then its slug is free again.
 */
function isOnlyAttempt({ db, intent }: EndContext, { id, tenant }: ScopeRecord): boolean {
  const row = requireScope(db, { tenant, scope: id });
  if (row.status !== 'provisioning' || row.revision !== intent) return false;
  const other = db.get(
    `SELECT 1 FROM open_intents o JOIN admin_log l ON l.sequence = o.sequence
     WHERE l.scope = ? AND o.sequence <> ? LIMIT 1`,
    id,
    intent,
  );
  return !other && !db.get('SELECT 1 FROM hostnames WHERE scope = ? LIMIT 1', id);
}

/**
 * The settings of a new instance: those of its provisioning, and beside them the platform's. The platform's settings belong
 * together, as a secret does to its client: where the provisioning names one of them, all are left out.
 */
function settingsOfNewScope(
  given: SettingsPatch | undefined,
  ofPlatform: Readonly<Record<string, string>>,
): SettingsPatch | undefined {
  const keys = Object.keys(ofPlatform);
  const isOwn = keys.some((key) => Object.hasOwn(given ?? {}, key));
  return keys.length === 0 || isOwn ? given : { ...ofPlatform, ...given };
}

function requireSameScope(found: ScopeRow, { body }: CallOf<typeof scopesProvision>): void {
  if (found.name === body.name && found.vertical === body.vertical && found.kind === body.kind) return;
  throw new PlatformError(
    'conflict',
    'This tenant has a scope with this slug and another name, vertical or kind.',
    { reason: 'slug_taken' },
  );
}

function newScope(
  context: { now(): number; newId(prefix: string): string; readonly revision: number },
  { params, body }: CallOf<typeof scopesProvision>,
): ScopeRow {
  const nowMs = context.now();
  return {
    id: context.newId(ID_PREFIXES.scope) as ScopeId,
    tenant: params.tenant,
    slug: body.slug,
    name: body.name,
    vertical: body.vertical,
    kind: body.kind,
    status: 'provisioning',
    revision: context.revision,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    // Known once the scope is inserted.
    ...{ version: null, bound: 0 },
  };
}

function auditFields({ slug, name, kind, status }: ScopeRow): NonNullable<AuditEntry['after']> {
  return { slug, name, kind, status };
}

function keysOf(config: Readonly<Record<string, string | null>>): NonNullable<AuditEntry['after']> {
  const keys = Object.keys(config).sort();
  return {
    set: keys.filter((key) => config[key] !== null),
    removed: keys.filter((key) => config[key] === null),
  };
}
