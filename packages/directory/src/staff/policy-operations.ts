/** The operations on the rule that says which programs members of the roster may let in. */
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation, dryRunQuery, planCount } from '../declarations/admin-operation.ts';
import { programPolicyBody, programPolicyRecord } from '../declarations/staff.ts';
import { change, planned, read } from '../lib/handlers.ts';
import { loadProgramPolicy, saveProgramPolicy } from './policy-store.ts';
import { dropAdmittedNoMore, grantsAdmittedNoMore, tokensAdmittedNoMore } from './program-store.ts';

const tag = 'Staff';

export const programPolicyPlan = z
  .object({
    dryRun: z.literal(true),
    programs: planCount.describe('Programs of staff and builders that would end'),
    tokens: planCount.describe('Staff tokens that would end'),
  })
  .meta({ id: 'ProgramPolicyPlan' });

export const programPolicyGet = adminOperation({
  name: 'program-policy.get',
  summary: 'Read which programs staff and builders may let in',
  tag,
  method: 'GET',
  path: '/program-policy',
  input: {},
  output: programPolicyRecord,
  success: 200,
  builder: 'none',
  audit: 'none',
  etag: true,
});

const readPolicy = /* @__PURE__ */ read(programPolicyGet, ({ db }) => {
  const value = loadProgramPolicy(db);
  return { value, etag: value.etag };
});

export const programPolicyPut = adminOperation({
  name: 'program-policy.put',
  summary: 'Set which programs staff and builders may let in',
  description:
    'Any, those of listed hosts, or none. Programs that are admitted no more end at once. The command line and staff tokens, also those of a device code, count as programs of 127.0.0.1: where it is not admitted, staff tokens end, and none is made. With dryRun, answers how many would end.',
  tag,
  method: 'PUT',
  path: '/program-policy',
  input: { query: dryRunQuery, body: programPolicyBody },
  output: programPolicyRecord,
  plan: programPolicyPlan,
  success: 200,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['precondition_failed'],
});

const putPolicy = /* @__PURE__ */ change(programPolicyPut, (context, { body, ifMatch }) => {
  const { db, revision } = context;
  const before = loadProgramPolicy(db);
  requireMatch(ifMatch, before.etag);
  const { programs, hosts } = body;
  saveProgramPolicy(db, { programs, hosts, updatedAtMs: context.now(), revision });
  const ended = dropAdmittedNoMore(db, body, context.now());
  const value = loadProgramPolicy(db);
  return {
    status: 200,
    value,
    etag: value.etag,
    audit: {
      target: { tenant: null, scope: null, vertical: null, other: null },
      before: { programs: before.programs, hosts: before.hosts, ended },
      after: { programs, hosts },
    },
  };
});

const planPolicy = /* @__PURE__ */ planned<typeof programPolicyPut>(
  programPolicyPut,
  ({ db }, { body, ifMatch }) => {
    requireMatch(ifMatch, loadProgramPolicy(db).etag);
    return {
      dryRun: true,
      programs: grantsAdmittedNoMore(db, body).length,
      tokens: tokensAdmittedNoMore(db, body).length,
    };
  },
);

export const programPolicyOperations = [readPolicy, putPolicy, planPolicy];
