/** The changes of permissions in a new version of a vertical, for the operator who promotes it. */
import type { VerticalManifest } from './manifest.ts';

/** The gains and losses of a role, a service or the whole manifest, sorted. */
export interface PermissionChange {
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

export interface PermissionDiff {
  /** Permission keys that exist in only one of the two. */
  readonly permissions: PermissionChange;
  /** Role keys that exist in only one of the two. */
  readonly roles: PermissionChange;
  readonly services: PermissionChange;
  /** Each role with a change, new and removed ones included. */
  readonly byRole: Readonly<Record<string, PermissionChange>>;
  readonly byService: Readonly<Record<string, PermissionChange>>;
  /** Null when the same role owns. */
  readonly ownerRole: { readonly before: string; readonly after: string } | null;
  /** Types whose parent changed: grants on the parent reach other records then. */
  readonly parents: readonly {
    readonly entity: string;
    readonly before: string | null;
    readonly after: string | null;
  }[];
  /** Whether any actor could do more than before. */
  readonly widens: boolean;
}

type PermissionSets = Readonly<Record<string, { readonly permissions: readonly string[] }>>;

/** Compares two manifests. Everything is sorted, so that equal differences are equal texts. */
export function permissionDiff(before: VerticalManifest, after: VerticalManifest): PermissionDiff {
  const byRole = changesOf(before.roles, after.roles);
  const byService = changesOf(before.services ?? {}, after.services ?? {});
  const ownerRole =
    before.ownerRole === after.ownerRole ? null : { before: before.ownerRole, after: after.ownerRole };
  const parents = parentChanges(before, after);
  return {
    permissions: change(Object.keys(before.permissions), Object.keys(after.permissions)),
    roles: change(Object.keys(before.roles), Object.keys(after.roles)),
    services: change(Object.keys(before.services ?? {}), Object.keys(after.services ?? {})),
    byRole,
    byService,
    ownerRole,
    parents,
    widens:
      [...Object.values(byRole), ...Object.values(byService)].some(({ gained }) => gained.length > 0) ||
      parents.some(({ after: parent }) => parent !== null) ||
      ownerRole !== null,
  };
}

function changesOf(before: PermissionSets, after: PermissionSets): Record<string, PermissionChange> {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const changes = keys.map(
    (key) => [key, change(permissionsOf(before, key), permissionsOf(after, key))] as const,
  );
  return Object.fromEntries(changes.filter(([, { gained, lost }]) => gained.length + lost.length > 0));
}

function permissionsOf(sets: PermissionSets, key: string): readonly string[] {
  return Object.hasOwn(sets, key) ? (sets[key]?.permissions ?? []) : [];
}

function parentChanges(before: VerticalManifest, after: VerticalManifest): PermissionDiff['parents'] {
  const parentIn = (manifest: VerticalManifest, type: string): string | null =>
    (Object.hasOwn(manifest.entities, type) ? manifest.entities[type]?.parent : undefined) ?? null;
  return [...new Set([...Object.keys(before.entities), ...Object.keys(after.entities)])]
    .sort()
    .map((entity) => ({ entity, before: parentIn(before, entity), after: parentIn(after, entity) }))
    .filter((each) => each.before !== each.after);
}

function change(before: readonly string[], after: readonly string[]): PermissionChange {
  const [had, has] = [new Set(before), new Set(after)];
  return {
    gained: [...has].filter((key) => !had.has(key)).sort(),
    lost: [...had].filter((key) => !has.has(key)).sort(),
  };
}
