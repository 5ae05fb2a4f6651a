/** The operations on programs that members of the roster let in. */
import { ID_PREFIXES, idSchema, PlatformError, pageOf, pageQuery, toTimestamp } from '@freehold/contracts';
import { z } from 'zod';
import { memberBehind } from '../access/admission.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { memberId, type StaffProgramRecord, staffProgramRecord } from '../declarations/staff.ts';
import { change, read } from '../lib/handlers.ts';
import { membersSeen, seesAll } from './operations.ts';
import { listStaffPrograms, type StaffProgram } from './program-store.ts';
import { endIf } from './programs.ts';

const tag = 'Staff';

export const staffProgramsList = adminOperation({
  name: 'staff-programs.list',
  summary: 'List the programs that staff and builders let in, newest first',
  description:
    'Those that can be used now. Admins see all of them, other members of the staff and builders their own. A service token sees what its owner sees, one without an owner all of them, and a push token none.',
  tag,
  method: 'GET',
  path: '/staff-programs',
  input: {
    query: z.strictObject({
      member: memberId.optional().describe('Only programs of this member'),
      ...pageQuery,
    }),
  },
  output: pageOf(staffProgramRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

const readPrograms = /* @__PURE__ */ read(staffProgramsList, ({ db, now }, { query, actor }) => {
  const { items, nextCursor } = listStaffPrograms(db, {
    ...query,
    member: membersSeen(actor, query.member),
    nowMs: now(),
  });
  return { value: { items: items.map(recordOf), nextCursor } };
});

export const staffProgramsEnd = adminOperation({
  name: 'staff-programs.end',
  summary: 'End a program that acts for a member of the roster',
  description:
    'All its tokens stop working at once; to come back it has to ask its member again. Admins may end any, other members of the staff and builders their own. A service token may end what its owner may; a service token without an owner may end any.',
  tag,
  method: 'DELETE',
  path: '/staff-programs/:program',
  input: { params: z.strictObject({ program: idSchema(ID_PREFIXES.programGrant) }) },
  output: z.null(),
  success: 204,
  builder: 'own-tenant',
  // To give up a right of one's own is no change of the platform.
  staff: 'read',
  audit: 'audit',
  destructive: true,
  problems: ['not_found'],
});

const endProgram = /* @__PURE__ */ change(staffProgramsEnd, (context, { params, actor }) => {
  const audit = endIf(context, params.program, (owner) => seesAll(actor) || owner === memberBehind(actor));
  if (audit) return { status: 204, value: null, audit };
  throw new PlatformError('not_found', 'There is no such program, or it was ended before.', {
    reason: 'unknown_program',
  });
});

export const staffProgramOperations = [readPrograms, endProgram];

function recordOf({ id, member, name, host, allowed, ...times }: StaffProgram): StaffProgramRecord {
  const { createdAtMs, expiresAtMs, lastUsedAtMs, lastUsedFrom } = times;
  return {
    ...{ id, member, name, host },
    access: allowed.access,
    permissions: allowed.access === 'some' ? [...allowed.permissions] : [],
    createdAt: toTimestamp(createdAtMs),
    expiresAt: toTimestamp(expiresAtMs),
    lastUsedAt: lastUsedAtMs === null ? null : toTimestamp(lastUsedAtMs),
    lastUsedFrom,
  };
}
