/** Who owns a scope's application, and the link that hands it over (spec 4.3.4; design: control-plane-routes, "Owner seat"). */
import { ownerClaimResponse, ownerSeatResponse, scopeId, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';

const tag = 'Owner seat';
const params = z.strictObject({ tenant: tenantId, scope: scopeId });

export const ownerSeatGet = adminOperation({
  name: 'owner-seat.get',
  summary: 'Say whether the owner seat is claimed',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/owner-seat',
  input: { params },
  output: ownerSeatResponse,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  problems: ['not_found', 'unsupported', 'runtime_fault'],
});

export const ownerClaimMint = adminOperation({
  name: 'owner-claim.mint',
  summary: 'Make a link with which the owner claims the seat',
  description:
    'The link is shown once and retires the one before it. A conflict when no host name is bound (reason no_hostname) or the seat is claimed. When nobody knows whether a link was made (reason outcome_unknown), make the call again.',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/owner-claim',
  input: { params },
  output: ownerClaimResponse,
  success: 201,
  builder: 'own-tenant',
  audit: 'audit',
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});
