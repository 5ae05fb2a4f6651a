/** What a new version of a vertical changes about who may do what: what an operator is shown before it is promoted. */
import type { VerticalManifest } from './manifest.ts';

/** What a role, a service or the whole manifest gains and loses, sorted. */
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
  /** What changes for each role that has any change, new and removed ones included. */
  readonly byRole: Readonly<Record<string, PermissionChange>>;
  readonly byService: Readonly<Record<string, PermissionChange>>;
  /** Null when the same role owns. */
  readonly ownerRole: { readonly before: string; readonly after: string } | null;
  /** Types whose parent changed: grants on the parent reach other records from then on. */
  readonly parents: readonly {
    readonly entity: string;
    readonly before: string | null;
    readonly after: string | null;
  }[];
  /** Whether anybody could do more afterwards than before. */
  readonly widens: boolean;
}

type Holders = Readonly<Record<string, { readonly permissions: readonly string[] }>>;

/** Compares two manifests. Everything is sorted, so that equal differences are equal texts. */
export function permissionDiff(before: VerticalManifest, after: VerticalManifest): PermissionDiff {
  const byRole = holderChanges(before.roles, after.roles);
  const byService = holderChanges(before.services ?? {}, after.services ?? {});
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

function holderChanges(before: Holders, after: Holders): Record<string, PermissionChange> {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const changes = keys.map(
    (key) => [key, change(permissionsOf(before, key), permissionsOf(after, key))] as const,
  );
  return Object.fromEntries(changes.filter(([, { gained, lost }]) => gained.length + lost.length > 0));
}

function permissionsOf(holders: Holders, key: string): readonly string[] {
  return Object.hasOwn(holders, key) ? (holders[key]?.permissions ?? []) : [];
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
