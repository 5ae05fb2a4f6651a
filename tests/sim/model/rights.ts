/** The model of the rights that stay when another state takes the place of a scope's. */
import { canonicalJson } from '@freehold/contracts';
import type { ScopeState } from './state.ts';

type Rows = readonly Readonly<Record<string, unknown>>[];

interface Rights {
  readonly assignments: Rows;
  readonly grants: Rows;
  readonly projectedRoles: Rows;
  readonly subjects: readonly string[];
}

/** Returns the rights without their order, and without the time of provisioning, which the model does not know. */
export function sortedRights({ assignments, grants, projectedRoles, subjects }: Rights): Rights {
  return {
    assignments: sorted(assignments),
    grants: sorted(grants),
    projectedRoles: sorted(projectedRoles),
    subjects: [...subjects].sort(),
  };
}

export function presentRights(state: ScopeState): Rights {
  const grants = state.grants.values();
  return sortedRights({
    assignments: state.assignments.values().map(({ at, ...row }) => ({ ...row, atMs: at })),
    grants: grants
      .filter(isOfToday)
      .map(({ at, expiresAt, ...row }) => ({ ...row, atMs: at, expiresAtMs: expiresAt })),
    projectedRoles: state.roles.values(),
    subjects: subjectsOf(state),
  });
}

/** Whether the carried rights are these. Grants on single records do not count. */
export function areCarried(state: ScopeState, known: Rights): boolean {
  const text = ({ subjects: _subjects, ...carried }: Rights): string => canonicalJson(carried as never);
  return text(sortedRights(known)) === text(presentRights(state));
}

/** Gives the present rights to an older state. */
export function carryRights(older: ScopeState, present: ScopeState): void {
  for (const table of ['assignments', 'roles'] as const) {
    for (const key of older[table].keys()) older[table].delete(key);
    for (const key of present[table].keys()) older[table].set(key, present[table].get(key) as never);
  }
  const subjects = new Set(subjectsOf(present));
  for (const key of older.grants.keys()) {
    const row = older.grants.get(key);
    if (!row || isOfToday(row) || !(row.subject.startsWith('service:') || subjects.has(row.subject)))
      older.grants.delete(key);
  }
  for (const key of present.grants.keys()) {
    const row = present.grants.get(key);
    if (row && isOfToday(row)) older.grants.set(key, row);
  }
}

function isOfToday({
  subject,
  entityType,
}: {
  readonly subject: string;
  readonly entityType: string;
}): boolean {
  return entityType === '' || subject.startsWith('connection:');
}

function subjectsOf(state: ScopeState): string[] {
  return [
    ...new Set([
      ...state.assignments.values().map(({ principal }) => principal),
      ...state.grants.values().map(({ subject }) => subject),
    ]),
  ].sort();
}

function sorted(rows: Rows): Rows {
  return rows.toSorted((a, b) => (canonicalJson(a as never) < canonicalJson(b as never) ? -1 : 1));
}
