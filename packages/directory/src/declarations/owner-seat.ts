/** Who owns a scope's application, and the link that hands it over (spec 4.3.4; design: control-plane-routes, "Owner seat"). */
import {
  ownerClaimResponse,
  ownerRecoveryRequest,
  ownerRecoveryResponse,
  ownerSeatResponse,
  scopeId,
  tenantId,
} from '@freehold/contracts';
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
  destructive: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

export const ownerRecoveryMint = adminOperation({
  name: 'owner-recovery.mint',
  summary: 'Make a way back for an owner who can no longer sign in',
  description:
    "A claimed seat is never claimed again. This makes an invite with the owner's role instead, which is accepted once; whoever holds the seat stays what they are. The tenant's admin can read who made it and why. The link is shown once and retires the one before it that nobody accepted. A conflict when no host name is bound (reason no_hostname) or while nobody owns the instance (reason seat_pending): then make a claim link. When nobody knows whether a link was made (reason outcome_unknown), make the call again.",
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/owner-recovery',
  input: { params, body: ownerRecoveryRequest.pick({ why: true, recover: true }) },
  output: ownerRecoveryResponse,
  success: 201,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});
