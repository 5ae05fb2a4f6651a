/** The roles that the platform adds to those of the manifests (spec 4.3; design: kernel, "Permissions"). */
import { pageOf, pageQuery, permissionKey, roleKey } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { roleRecord } from './records.ts';

const tag = 'Roles';
const params = z.strictObject({ key: roleKey });

export const rolesList = adminOperation({
  name: 'roles.list',
  summary: "List the platform's roles",
  description:
    'By key. A change reaches the scopes at once; `delivery` says how many of them could not be told yet. A scope is told of the permissions that its vertical declares; a role of the same key in the manifest stays what the manifest says.',
  tag,
  method: 'GET',
  path: '/roles',
  input: { query: z.strictObject(pageQuery) },
  output: pageOf(roleRecord).extend({
    delivery: z.object({
      pendingScopes: z.int().describe('Scopes that have not heard of the newest change'),
    }),
  }),
  success: 200,
  builder: 'none',
  audit: 'none',
});

export const rolesPut = adminOperation({
  name: 'roles.put',
  summary: 'Create a role or replace what it allows',
  tag,
  method: 'PUT',
  path: '/roles/:key',
  input: {
    params,
    body: z.strictObject({
      name: z.string().min(1).max(100),
      permissions: z.array(permissionKey).max(500),
    }),
  },
  output: roleRecord,
  success: 200,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['conflict', 'precondition_failed'],
});

export const rolesDelete = adminOperation({
  name: 'roles.delete',
  summary: 'Delete a role',
  tag,
  method: 'DELETE',
  path: '/roles/:key',
  input: { params },
  output: z.null(),
  success: 204,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});
