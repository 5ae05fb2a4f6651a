/** The operations of push tokens, and the feature of all tokens. */
import {
  ID_PREFIXES,
  idSchema,
  lineOfText,
  PlatformError,
  pageOf,
  pageQuery,
  type TenantId,
  type TokenId,
  tenantId,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import type { Actor } from '../access/actors.ts';
import { memberBehind } from '../access/admission.ts';
import { rightsOf } from '../access/reach.ts';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { pushTokenRecord } from '../declarations/records.ts';
import {
  covers,
  narrowing,
  newPushTokenKind,
  PUSH_TOKEN_DAYS_DEFAULT,
  pushTokenKind,
  rotation,
  TOKEN_DAYS_MAX,
} from '../declarations/tokens.ts';
import { defineFeature } from '../lib/feature.ts';
import { change, read } from '../lib/handlers.ts';
import { requireScope } from '../scopes/store.ts';
import { requireActiveTenant } from '../tenants/store.ts';
import { auditFields, mintToken, revokeToken, rotateToken, targetOf } from './minting.ts';
import { tokenMigrations } from './schema.ts';
import {
  createServiceToken,
  dropServiceToken,
  readServiceTokens,
  rotateServiceToken,
} from './service-operations.ts';
import { serviceTokenMethods } from './service-tokens.ts';
import {
  countLegacyPushTokens,
  listPushTokens,
  loadToken,
  pushTokenOfRow,
  rightsOfToken,
  type TokenRow,
} from './store.ts';

const tag = 'Push tokens';

export const pushTokensList = adminOperation({
  name: 'push-tokens.list',
  summary: 'List the push tokens',
  description: 'Revoked and expired ones stay listed. A secret is never shown again.',
  tag,
  method: 'GET',
  path: '/push-tokens',
  input: {
    query: z.strictObject({
      tenant: tenantId.optional().describe('Only tokens of this tenant'),
      kind: pushTokenKind.optional(),
      ...pageQuery,
    }),
  },
  output: pageOf(pushTokenRecord),
  success: 200,
  builder: 'own-tenant',
  pushToken: 'deploy',
  audit: 'none',
});

const readPushTokens = /* @__PURE__ */ read(pushTokensList, ({ db }, { query }) => ({
  value: listPushTokens(db, query),
}));

export const pushTokensCreate = adminOperation({
  name: 'push-tokens.create',
  summary: 'Create a push token for a tenant',
  description:
    'kind says what it may do; verticals and scopes narrow that to some of the tenant, and everything else reads as not there. Removing the person who makes it revokes it. The secret is shown in this answer and never again: a replay with the same idempotency key is a conflict (reason secret_shown_once) that names the token, so that it can be revoked.',
  tag,
  method: 'POST',
  path: '/push-tokens',
  input: {
    body: z.strictObject({
      name: lineOfText(100),
      tenant: tenantId,
      kind: newPushTokenKind.default('deploy'),
      verticals: narrowing.verticals.optional().describe('Only these verticals, and scopes of them'),
      scopes: narrowing.scopes.optional().describe('Only these scopes'),
      expiresInDays: z.int().min(1).max(TOKEN_DAYS_MAX).default(PUSH_TOKEN_DAYS_DEFAULT),
    }),
  },
  output: z
    .object({ token: pushTokenRecord, secret: z.string().describe('Send it as a bearer token') })
    .meta({ id: 'NewPushToken' }),
  success: 201,
  builder: 'none',
  audit: 'audit',
  problems: ['not_found', 'conflict', 'invalid_transition'],
});

const createPushToken = /* @__PURE__ */ change(pushTokensCreate, (context, { body, actor }) => {
  requireActiveTenant(context.db, body.tenant);
  for (const scope of body.scopes ?? []) requireScope(context.db, { tenant: body.tenant, scope });
  const { row, secret } = mintToken(context, {
    kind: 'push',
    name: body.name,
    tenant: body.tenant,
    rights: { kind: body.kind, verticals: body.verticals ?? null, scopes: body.scopes ?? null },
    days: body.expiresInDays,
    createdBy: actor.id,
    revision: context.revision,
  });
  const token = pushTokenOfRow(row);
  return {
    status: 201,
    value: { token, secret },
    audit: { target: targetOf(row), before: null, after: auditFields(row) },
    shownOnce: `This token was made by an earlier call with this key, and its secret was shown then. Revoke ${row.id} and make another with a new key.`,
  };
});

export const pushTokensRotate = adminOperation({
  name: 'push-tokens.rotate',
  summary: 'Replace a push token, with an overlap',
  description:
    'Makes a token of the same name, tenant and rights. The replaced token goes on working for the overlap, and then ends by itself: revoking it revokes the new one too. A token that a builder makes works for no longer than the replaced one, and neither does the successor of a legacy token. A token replaces tokens that may do no more than itself (reason token_kind).',
  tag,
  method: 'POST',
  path: '/push-tokens/:token/rotate',
  input: { params: z.strictObject({ token: idSchema<TokenId>(ID_PREFIXES.token) }), body: rotation },
  output: z
    .object({
      token: pushTokenRecord,
      secret: z.string().describe('Send it as a bearer token'),
      replaced: pushTokenRecord,
    })
    .meta({ id: 'RotatedPushToken' }),
  success: 201,
  builder: 'own-tenant',
  pushToken: 'deploy',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

const rotatePushToken = /* @__PURE__ */ change(
  pushTokensRotate,
  (context, { params, body, actor, ifMatch }) => {
    const before = requirePushToken(context.db, params.token, actor);
    requireActiveTenant(context.db, before.tenant);
    requireCovering(actor, before);
    const isBounded = actor.kind === 'builder' || before.rights === null;
    return rotateToken(context, { before, ...body, createdBy: actor.id, ifMatch, isBounded }, pushTokenOfRow);
  },
);

export const pushTokensRevoke = adminOperation({
  name: 'push-tokens.revoke',
  summary: 'Revoke a push token',
  description:
    'It stops working at once, and with it every token that replaced it or that it made, and so on; previews that these made end. The admin log names them. Revoking it again changes nothing. A token revokes tokens that may do no more than itself (reason token_kind).',
  tag,
  method: 'DELETE',
  path: '/push-tokens/:token',
  input: { params: z.strictObject({ token: idSchema<TokenId>(ID_PREFIXES.token) }) },
  output: z.null(),
  success: 204,
  builder: 'own-tenant',
  pushToken: 'deploy',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});

const dropPushToken = /* @__PURE__ */ change(pushTokensRevoke, (context, { params, actor, ifMatch }) => {
  const before = requirePushToken(context.db, params.token, actor);
  requireMatch(ifMatch, String(before.revision));
  // A person may end a token that may do more than they: a stolen one has to end at once.
  if (memberBehind(actor) === null) requireCovering(actor, before);
  return { status: 204, value: null, ...revokeToken(context, before, context.revision) };
});

function requirePushToken(
  db: SqlDatabase,
  id: string,
  actor: Actor,
): TokenRow & { readonly tenant: TenantId } {
  const row = loadToken(db, id);
  const isTheirs = row?.kind === 'push' && (actor.kind !== 'builder' || actor.tenant === row.tenant);
  if (isTheirs && row.tenant !== null) return { ...row, tenant: row.tenant };
  throw new PlatformError('not_found', 'There is no such push token.', { reason: 'unknown_token' });
}

/**
 * The secret of a successor must give its holder nothing that they may not do already.
 * @throws PlatformError `forbidden`, reason `token_kind`.
 */
function requireCovering(actor: Actor, row: TokenRow): void {
  if (actor.kind !== 'builder' || covers(rightsOf(actor), rightsOfToken(row))) return;
  throw new PlatformError(
    'forbidden',
    'That token may do more than you may. Ask the staff of this platform.',
    {
      reason: 'token_kind',
    },
  );
}

export const tokensFeature = /* @__PURE__ */ defineFeature({
  operations: [
    readPushTokens,
    readServiceTokens,
    createPushToken,
    rotatePushToken,
    dropPushToken,
    createServiceToken,
    rotateServiceToken,
    dropServiceToken,
  ],
  migrations: [tokenMigrations],
  methods: (context) => ({
    ...serviceTokenMethods(context),
    legacyPushTokens: (): number => countLegacyPushTokens(context.db, context.now()),
  }),
  queries: ['legacyPushTokens'],
});
