/**
 * The checks of a staged copy before it becomes a scope, and the keys, attachments and members that come along with it.
 * Everything here runs before the swap; a failure changes nothing of the scope.
 */
import {
  type ExaminedScopeCopy,
  ID_PREFIXES,
  idSchema,
  PlatformError,
  type Restored,
  type ScopeId,
  type ScopeRef,
} from '@freehold/contracts';
import type { Admission, BlobStore, SqlDatabase } from '@freehold/store';
import type { PresentRights, ScopeStub } from './contract/scope-methods.ts';
import type { Vault } from './keys/vault.ts';
import { type CopiedMember, readMembers, type ScopePeople, type Standing } from './members/members.ts';
import { carryRights, limitRights, provisionedAt, rightsInCopy } from './permissions/present-rights.ts';
import { markForPendingErasures, redactScope } from './sealing/erasures.ts';
import { isLost } from './sealing/keyed-scope.ts';
import {
  fetchMovingKeys,
  lookAtStaged,
  type MovingKeys,
  moveIn,
  type StagedScope,
} from './sealing/move-in.ts';
import type { Vertical } from './vertical/vertical.ts';

/** The present state of a scope: `lost` when its database is damaged, `missing` when there is none. */
export type Presence = 'sound' | 'lost' | 'missing';

/** A staged copy: whose it is, and what it needs. */
export interface SeenCopy extends StagedScope {
  /** The members that it names; null in copies from before they were noted. */
  readonly members: readonly CopiedMember[] | null;
  readonly provisionedAtMs: number | null;
  /** The digests of its attachments. */
  readonly files: readonly string[];
}

export interface CopyAdmissionParts {
  readonly vertical: Vertical;
  readonly vault: Vault | undefined;
  readonly people: ScopePeople | undefined;
  readonly blobs: ((scopeId: string) => BlobStore) | undefined;
  /** Rejects unless the scope is the tenant's. */
  readonly requireOwned: (ref: ScopeRef) => Promise<unknown>;
  readonly scope: (scopeId: string) => ScopeStub;
  readonly attachmentBytesMax: number;
  readonly newMark: () => string;
  readonly random: (bytes: number) => Uint8Array;
  readonly now: () => number;
}

/** An admission that tells what it found in its copy, for the answer. */
export interface CopyAdmission extends Admission<SeenCopy> {
  readonly seen: () => SeenCopy;
  /** The rights that must still be those of the scope when the copy takes its place; null where they do not matter. */
  readonly carried: () => PresentRights | null;
  readonly roles: () => Restored['roles'];
  readonly attachments: () => Restored['attachments'];
}

/** Admits another state as the scope: it must be this tenant's, and is redacted of erased persons. */
export async function makeCopyAdmission(
  parts: CopyAdmissionParts,
  ref: ScopeRef,
  presence: Presence,
): Promise<CopyAdmission> {
  const { vertical, vault, people, blobs, attachmentBytesMax, random, now, newMark } = parts;
  const receipts = (await vault?.shredded(ref)) ?? [];
  const mark = newMark();
  let keys: MovingKeys | null = null;
  let seen: SeenCopy | null = null;
  let attachments: Restored['attachments'];
  // A sound scope whose rights cannot be read now has had a failing disk: its rights must not be taken for lost.
  const own = presence === 'sound' ? await readRights(parts, ref) : await rightsOf(parts, ref);
  let rights = own;
  return {
    seen: () => seen as SeenCopy,
    carried: () => (rights.kind === 'kept' && rights.of === ref.scopeId ? rights.present : null),
    roles: () => rights.kind,
    attachments: () => attachments,
    look: (staged) => lookAtCopy(staged, { vertical, ref, presence }),
    prepare: async (found) => {
      seen = found;
      const from = sourceOf(found, ref);
      if (from !== null) rights = await rightsOf(parts, { ...ref, scopeId: from });
      // A scope that was made anew in the place of a lost one knows none of its members.
      else if (own.kind === 'kept' && own.present.provisionedAtMs !== found.provisionedAtMs)
        rights = await knownRights(parts, ref);
      if (vault && from !== null) keys = await fetchMovingKeys(vault, ref, found);
      if (blobs) {
        const places = { blobs, from: await filesFrom(found, ref, parts.requireOwned), ref };
        attachments = await bringFiles(found.files, { ...places, bytesMax: attachmentBytesMax });
      }
      // A first person may take an open seat at any moment, and must not get another scope's data with it.
      if (from !== null) await people?.closeWindow(ref);
    },
    admit: (staged) => {
      requireTenant(staged, ref.tenantId);
      const from = seen && sourceOf(seen, ref);
      if (keys && from) moveIn(staged, { vertical, from, to: ref.scopeId, keys, random, nowMs: now() });
      applyRights(staged, rights, { ownerRole: vertical.manifest.ownerRole, ref, nowMs: now() });
      staged.run('UPDATE _spine_scope SET scope_id = ?', ref.scopeId);
      if (own.kind === 'kept')
        staged.run('UPDATE _spine_scope SET provisioned_at = ?', own.present.provisionedAtMs);
      for (const receipt of receipts)
        redactScope({ db: staged, sql: staged, vertical, receipt, nowMs: now() });
      // More persons may be erased before it is in place; without a vault none can be.
      if (vault) markForPendingErasures(staged, mark);
    },
  };
}

/** The rights that a copy gets: those of today in its scope; its own within what is known of the members; or its own. */
type CopyRights =
  | { readonly kind: 'kept'; readonly of: ScopeId; readonly present: PresentRights }
  | { readonly kind: 'limited'; readonly standing: readonly Standing[] }
  | { readonly kind: 'copied' };

/**
 * Finds the rights for a copy of a scope.
 * @throws the failure of a damaged identity directory: it must be recovered first, or lowered members would come back.
 */
async function rightsOf(parts: CopyAdmissionParts, of: ScopeRef): Promise<CopyRights> {
  // A copy from outside may name anything.
  if (!idSchema(ID_PREFIXES.scope).safeParse(of.scopeId).success) return { kind: 'copied' };
  try {
    return await readRights(parts, of);
  } catch (error) {
    if (!isLost(error)) throw error;
    return knownRights(parts, of);
  }
}

async function readRights({ scope, requireOwned }: CopyAdmissionParts, of: ScopeRef): Promise<CopyRights> {
  await requireOwned(of);
  return { kind: 'kept', of: of.scopeId, present: await scope(of.scopeId).presentRights({}) };
}

/** Finds the rights by the identity directory alone. */
async function knownRights({ people }: CopyAdmissionParts, of: ScopeRef): Promise<CopyRights> {
  const standing = await people?.standing(of);
  return standing ? { kind: 'limited', standing } : { kind: 'copied' };
}

function applyRights(
  staged: SqlDatabase,
  rights: CopyRights,
  of: { readonly ownerRole: string; readonly ref: ScopeRef; readonly nowMs: number },
): void {
  if (rights.kind === 'limited') limitRights(staged, rights.standing, of);
  if (rights.kind !== 'kept') return;
  const { present } = rights;
  carryRights(staged, rights.of === of.ref.scopeId ? present : rightsInCopy(staged, present));
}

/** Returns the other scope that a copy was taken of; null for a copy of the scope itself. */
export function sourceOf({ scopeId }: StagedScope, ref: ScopeRef): ScopeId | null {
  return scopeId === null || scopeId === ref.scopeId ? null : (scopeId as ScopeId);
}

/**
 * Returns the other scope whose files may be taken; null for none. A copy's word is not enough: a forged one would name
 * another tenant's scope. One that is gone or damaged cannot confirm whose it is.
 */
export async function filesFrom(
  copy: StagedScope,
  ref: ScopeRef,
  requireOwned: CopyAdmissionParts['requireOwned'],
): Promise<ScopeId | null> {
  const from = sourceOf(copy, ref);
  if (from === null || !idSchema(ID_PREFIXES.scope).safeParse(from).success) return null;
  try {
    await requireOwned({ tenantId: ref.tenantId, scopeId: from });
    return from;
  } catch (error) {
    if (isLost(error)) return null;
    throw error;
  }
}

/**
 * Reads a staged copy, and changes nothing.
 * @throws PlatformError `validation_failed`, reason `copy_foreign`; `not_found` where the scope is missing and the copy is
 * another's: nothing proves that there ever was such a scope.
 */
export function lookAtCopy(
  staged: SqlDatabase,
  {
    vertical,
    ref,
    presence,
  }: { readonly vertical: Vertical; readonly ref: ScopeRef; readonly presence: Presence },
): SeenCopy {
  requireTenant(staged, ref.tenantId);
  const found = lookAtStaged(staged, vertical, ref.scopeId);
  if (presence === 'missing' && sourceOf(found, ref) !== null) throw unknownScope();
  const files = staged.all<{ digest: string }>(
    'SELECT DISTINCT digest FROM _spine_attachments WHERE removed_at IS NULL ORDER BY digest',
  );
  const provisionedAtMs = provisionedAt(staged);
  return {
    ...found,
    provisionedAtMs,
    members: readMembers(staged),
    files: files.map(({ digest }) => digest),
  };
}

interface FilePlaces {
  readonly blobs: (scopeId: string) => BlobStore;
  /** The other scope whose files may be taken; null for none. */
  readonly from: ScopeId | null;
  readonly ref: ScopeRef;
}

/** Copies the files that a copy names and its new scope lacks. A scope keeps its files apart from every other's. */
async function bringFiles(
  files: readonly string[],
  { blobs, from, ref, bytesMax }: FilePlaces & { readonly bytesMax: number },
): Promise<NonNullable<Restored['attachments']>> {
  const counts = { copied: 0, missing: 0 };
  for (const digest of await missingFiles(files, blobs(ref.scopeId))) {
    const isCopied = from !== null && (await copyFile(digest, { blobs, from, ref, bytesMax }));
    counts[isCopied ? 'copied' : 'missing'] += 1;
  }
  return counts;
}

/** Returns whether the file could be copied. A damaged one must not keep everything else from being restored. */
async function copyFile(
  digest: string,
  { blobs, from, ref, bytesMax }: FilePlaces & { readonly from: ScopeId; readonly bytesMax: number },
): Promise<boolean> {
  try {
    const body = await blobs(from).open(digest);
    if (!body) return false;
    await blobs(ref.scopeId).put(body, { bytesMax, bytes: undefined, digest });
    return true;
  } catch (error) {
    if (error instanceof PlatformError && /^(blob_damaged|digest_mismatch)$/.test(error.reason ?? ''))
      return false;
    throw error;
  }
}

/** Counts the files that a restore would find nowhere. */
export async function examineFiles(
  files: readonly string[],
  { blobs, from, ref }: FilePlaces,
): Promise<NonNullable<ExaminedScopeCopy['attachments']>> {
  const lacking = await missingFiles(files, blobs(ref.scopeId));
  const nowhere = from === null ? lacking : await missingFiles(lacking, blobs(from));
  return { files: files.length, missing: nowhere.length };
}

async function missingFiles(files: readonly string[], store: BlobStore): Promise<readonly string[]> {
  if (files.length === 0) return [];
  const missing = new Set(files);
  for await (const { digest } of store.list()) missing.delete(digest);
  return [...missing];
}

/** @throws PlatformError `validation_failed`, reason `copy_foreign`. */
function requireTenant(staged: SqlDatabase, tenantId: string): void {
  const whose = staged.get<{ tenantId: string }>('SELECT tenant_id AS tenantId FROM _spine_scope');
  if (whose?.tenantId !== tenantId)
    throw new PlatformError('validation_failed', 'This is a copy of another tenant’s scope.', {
      reason: 'copy_foreign',
    });
}

export function unknownScope(): PlatformError {
  return new PlatformError('not_found', 'There is no such scope.', { reason: 'unknown_scope' });
}
