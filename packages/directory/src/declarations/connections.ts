/** Connections: a tenant's accounts with other systems (spec 4.3.14; design: control-plane-routes, "Connections"). */
import {
  connectionId,
  entityRef,
  pageOf,
  pageQuery,
  permissionKey,
  scopeId,
  tenantId,
} from '@freehold/contracts';
import { providerKey, subjectRef } from '@freehold/contracts/http';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import {
  connectionActivityEntry,
  connectionCredentialRecord,
  connectionGrantRecord,
  connectionRecord,
  connectionState,
} from './connection-records.ts';
import { dryRunQuery, planCount } from './dry-run.ts';

const tag = 'Connections';
const ofTenant = z.strictObject({ tenant: tenantId });
const ofConnection = z.strictObject({ tenant: tenantId, connection: connectionId });

/** It travels in a header to the provider, so it is visible ASCII without spaces. */
const apiKey = z
  .string()
  .min(8)
  .max(4096)
  .regex(/^[\x21-\x7e]*$/, 'must be visible ASCII characters without spaces')
  .describe('Verified with the provider before it is stored; sealed, and never shown again');

export const connectionsList = adminOperation({
  name: 'connections.list',
  summary: 'List the connections of a tenant',
  description: 'Disconnected ones stay listed.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/connections',
  input: {
    params: ofTenant,
    query: z.strictObject({
      scope: scopeId.optional().describe('Only those connected in this scope'),
      state: connectionState.optional().describe('Only those in this state'),
      ...pageQuery,
    }),
  },
  output: pageOf(connectionRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

export const connectionsCreate = adminOperation({
  name: 'connections.create',
  summary: 'Connect an account with an API key',
  description:
    'For providers of API keys; the others are connected by a consent round. The provider is asked whether it takes the key; one that it refuses is not stored (reason credential_refused). One account is connected once per vertical (reason account_connected).',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/connections',
  input: {
    params: ofTenant,
    body: z.strictObject({ provider: providerKey, scope: scopeId, subjectRef, apiKey }),
  },
  output: connectionRecord,
  success: 201,
  builder: 'own-tenant',
  audit: 'audit',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'runtime_fault', 'unavailable'],
});

export const connectionsGet = adminOperation({
  name: 'connections.get',
  summary: 'Get one connection',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/connections/:connection',
  input: { params: ofConnection },
  output: connectionRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
});

export const disconnectPlan = z
  .object({
    dryRun: z.literal(true),
    connection: connectionRecord,
    credential: z.boolean().describe('Whether there is one, which is destroyed'),
    revocable: z.boolean().describe('Whether the provider is asked to revoke it'),
    grants: planCount.describe('What it may do, which it then may not'),
    scopes: z.array(scopeId).describe('Where it acts by these grants'),
  })
  .meta({ id: 'DisconnectPlan' });

export const connectionsDisconnect = adminOperation({
  name: 'connections.disconnect',
  summary: 'Disconnect: revoke the credential at the provider and destroy it here',
  description:
    'The credential is destroyed here whatever the provider says; the answer’s reason says what became of it there. The record stays, and disconnecting again changes nothing. With dryRun, answers what it may do and where.',
  tag,
  method: 'DELETE',
  path: '/tenants/:tenant/connections/:connection',
  input: { params: ofConnection, query: dryRunQuery },
  output: connectionRecord,
  plan: disconnectPlan,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});

export const connectionsVerify = adminOperation({
  name: 'connections.verify',
  summary: 'Ask the provider whether it still takes the credential',
  description:
    'A credential that the provider refuses makes the connection broken, and one that it takes makes it active again. A provider that cannot be asked changes nothing.',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/connections/:connection/verify',
  input: { params: ofConnection },
  output: connectionRecord,
  success: 200,
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

export const connectionsCredential = adminOperation({
  name: 'connections.credential',
  summary: 'Say which credential is loaded, without revealing it',
  description:
    'Its version is that of the connection. A token is refreshed without a new one: the ETag is for If-Match, and no answer is ever 304.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/connections/:connection/credential',
  input: { params: ofConnection },
  output: connectionCredentialRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
  volatile: true,
});

export const connectionsRotate = adminOperation({
  name: 'connections.rotate',
  summary: 'Replace the API key of a connection',
  description:
    'The provider is asked first, and the new key must be of the same account. What was connected by consent is replaced by another consent round (reason consent_required).',
  tag,
  method: 'PUT',
  path: '/tenants/:tenant/connections/:connection/credential',
  input: { params: ofConnection, body: z.strictObject({ apiKey }) },
  output: connectionCredentialRecord,
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

export const connectionsActivity = adminOperation({
  name: 'connections.activity',
  summary: 'List what happened to a connection, newest first',
  description: 'The last 500 entries are kept.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/connections/:connection/activity',
  input: { params: ofConnection, query: z.strictObject(pageQuery) },
  output: pageOf(connectionActivityEntry),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

export const connectionGrantsList = adminOperation({
  name: 'connection-grants.list',
  summary: 'List where a connection may act, and with which permissions',
  description:
    'The version of the list is that of the connection: the ETag is for If-Match, and no answer is ever 304, because a scope that is gone leaves the list without a new one.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/connections/:connection/connection-grants',
  input: { params: ofConnection, query: z.strictObject(pageQuery) },
  output: pageOf(connectionGrantRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
  volatile: true,
});

export const connectionGrantsPut = adminOperation({
  name: 'connection-grants.put',
  summary: 'Let a connection act in a scope with one permission',
  description:
    'The scope is one of the same tenant and vertical. Repeating it delivers the grant again. The version that it makes is one of the connection.',
  tag,
  method: 'PUT',
  path: '/tenants/:tenant/connections/:connection/connection-grants',
  input: {
    params: ofConnection,
    body: z.strictObject({ scope: scopeId, permission: permissionKey, entity: entityRef.optional() }),
  },
  output: connectionGrantRecord,
  success: 200,
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

export const connectionGrantsDelete = adminOperation({
  name: 'connection-grants.delete',
  summary: 'Shut a connection out of a scope',
  description:
    'It takes effect on the very next call. An application keeps the grants that it was given, so they count again when the connection is let back into the scope. Shutting it out again changes nothing.',
  tag,
  method: 'DELETE',
  path: '/tenants/:tenant/connections/:connection/connection-grants',
  input: {
    params: ofConnection,
    query: z.strictObject({ scope: scopeId.describe('The scope that it is shut out of') }),
  },
  output: z.null(),
  success: 204,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});
