/** Host names and where they lead (spec 4.3; design: control-plane-routes, "Hostnames"). */
import { pageOf, pageQuery, scopeId, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { hostnameRecord, hostnameStatus, surface } from './records.ts';

const tag = 'Hostnames';
const hostnameText = z
  .string()
  .min(1)
  .max(253)
  .describe('A full host name without a port; an international one is stored in its ASCII form');

export const hostnamesList = adminOperation({
  name: 'hostnames.list',
  summary: 'List the host names',
  tag,
  method: 'GET',
  path: '/hostnames',
  input: {
    query: z.strictObject({
      tenant: tenantId.optional().describe('Only names of this tenant'),
      scope: scopeId.optional().describe('Only names of this scope'),
      status: hostnameStatus.optional().describe('Only names in this state'),
      ...pageQuery,
    }),
  },
  output: pageOf(hostnameRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

export const hostnamesBind = adminOperation({
  name: 'hostnames.bind',
  summary: 'Bind a host name to a scope',
  description:
    'A name under localhost or under a base domain of this platform is active at once, every other one is pending until it is verified. The same binding again answers the one that is there (200); a name that is bound elsewhere, or that the platform uses itself, is a conflict. A bare public suffix (co.uk, github.io) is not valid.',
  tag,
  method: 'POST',
  path: '/hostnames',
  input: {
    body: z.strictObject({
      hostname: hostnameText,
      tenant: tenantId.optional().describe('Whose scope; a builder may leave it out'),
      scope: scopeId,
      surface: surface.default('app'),
    }),
  },
  output: hostnameRecord,
  success: 201,
  builder: 'own-tenant',
  audit: 'audit',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

export const hostnamesSetStatus = adminOperation({
  name: 'hostnames.set-status',
  summary: 'Switch a host name on or off',
  description:
    'pending → active (staff vouch for the name), active ⇄ disabled. Every other step is an invalid_transition.',
  tag,
  method: 'PUT',
  path: '/hostnames/status',
  input: {
    body: z.strictObject({ hostname: hostnameText, status: z.enum(['active', 'disabled']) }),
  },
  output: hostnameRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});
