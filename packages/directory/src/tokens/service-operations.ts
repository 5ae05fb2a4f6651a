/** What can be done with service tokens over the API. The operator's own wiring makes the first: `service-tokens.ts`. */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import {
  serviceTokensCreate,
  serviceTokensList,
  serviceTokensRevoke,
  serviceTokensRotate,
} from '../declarations/service-tokens.ts';
import { change, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { auditFields, mintToken, revokeToken, targetOf } from './minting.ts';
import { ownerOfMade } from './owner.ts';
import { rotateToken } from './rotation.ts';
import { listServiceTokens, loadToken, serviceTokenOfRow, type TokenRow } from './store.ts';

export const readServiceTokens = read(serviceTokensList, ({ db, now }, { query }) => ({
  value: listServiceTokens(db, query, now()),
}));

export const createServiceToken = change(serviceTokensCreate, (context, { body, actor }) => {
  const { row, secret } = mintToken(context, {
    kind: 'service',
    name: body.name,
    tenant: null,
    days: body.expiresInDays,
    createdBy: actor.id,
    owner: ownerOfMade(actor),
    revision: context.revision,
  });
  return {
    status: 201,
    value: { token: serviceTokenOfRow(row, context.now()), secret },
    audit: { target: targetOf(row), before: null, after: auditFields(row) },
    shownOnce: `This token was made by an earlier call with this key, and its secret was shown then. Revoke ${row.id} and make another with a new key.`,
  };
});

export const rotateServiceToken = change(serviceTokensRotate, (context, { params, body, actor, ifMatch }) =>
  rotateToken(
    context,
    {
      before: requireServiceToken(context.db, params.token),
      ...body,
      createdBy: actor.id,
      // Whoever replaces a token takes it over, also from somebody who left.
      owner: ownerOfMade(actor),
      ifMatch,
      isBounded: false,
    },
    (row) => serviceTokenOfRow(row, context.now()),
  ),
);

export const dropServiceToken = change(serviceTokensRevoke, (context, { params, ifMatch }) => {
  const before = requireServiceToken(context.db, params.token);
  requireMatch(ifMatch, String(before.revision));
  return { status: 204, value: null, audit: revokeToken(context, before, context.revision) };
});

function requireServiceToken(db: SqlDatabase, id: string): TokenRow {
  const row = loadToken(db, id);
  if (row?.kind === 'service') return row;
  throw new PlatformError('not_found', 'There is no such service token.', { reason: 'unknown_token' });
}
