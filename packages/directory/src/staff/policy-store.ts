/** The rule for programs of the staff, in SQL: one row, or none until it is set. */
import { type AdmittedPrograms, admitsProgram } from '@freehold/contracts';
import { defineTable, hidden, integer, json, revision, type SqlDatabase, text, time } from '@freehold/store';
import type { ProgramPolicyRecord } from '../declarations/staff.ts';

const ONLY = 1;

const policies = defineTable('staff_program_policy', ['id'], {
  id: hidden(integer()),
  programs: text<AdmittedPrograms['programs']>(),
  hosts: json<string[]>(),
  updatedAtMs: time(),
  revision: revision(),
});
const save = policies.saving('programs', 'hosts', 'updatedAtMs', 'revision');
const shown = policies.recording<ProgramPolicyRecord>();

/** As the owner of an instance finds it. */
const UNSET: ProgramPolicyRecord = { programs: 'any', hosts: [], updatedAt: null, etag: '0' };

export function loadProgramPolicy(db: SqlDatabase): ProgramPolicyRecord {
  const row = policies.get(db, ONLY);
  return row ? shown(row) : UNSET;
}

export function saveProgramPolicy(
  db: SqlDatabase,
  policy: AdmittedPrograms & { readonly updatedAtMs: number; readonly revision: number },
): void {
  save(db, { ...policy, hosts: [...policy.hosts], id: ONLY });
}

/**
 * Staff tokens count as programs of this computer, which is where their codes go: a rule that lists other hosts must not be
 * got around by one of the two names that need no registration.
 */
export const STAFF_TOKEN_HOST = '127.0.0.1';

/** @param host null for a staff token. */
export function isAdmitted(db: SqlDatabase, host: string | null): boolean {
  return admitsProgram(loadProgramPolicy(db), host ?? STAFF_TOKEN_HOST);
}
