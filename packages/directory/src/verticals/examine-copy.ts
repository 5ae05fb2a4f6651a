/** A look of a vertical into a copy, and at the state of the scope that it would replace. */
import {
  bookmarksResponse,
  EXPORT_MEDIA_TYPES,
  type ExaminedScopeCopy,
  examinedCopy,
  PlatformError,
  type ScopeExamination,
  type ScopeExport,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { ScopeRecord } from '../declarations/records.ts';
import { askScope, type VerticalAccess } from './client.ts';

/** `damaged`: the scope's database is there and cannot be read. `missing`: there is none. */
export type ScopePresence = 'sound' | 'damaged' | 'missing';

/** The time limit for a copy that a caller waits for. */
const EXAMINE_TIMEOUT_MS = 110_000;

/**
 * Has a copy checked as a restore does; nothing is changed. The copy's bytes are read or cancelled.
 * @returns null where the vertical has no such ability, as one from before it.
 * @throws PlatformError the refusal that a restore would get, such as `validation_failed`, reason `copy_damaged`.
 */
export async function examineCopy(
  access: VerticalAccess,
  scope: Pick<ScopeRecord, 'tenant' | 'id' | 'vertical'>,
  { format, body }: Pick<ScopeExport, 'format' | 'body'>,
  presence: ScopePresence = 'sound',
): Promise<ExaminedScopeCopy | null> {
  const query = { format, ...ifMissing(presence) };
  try {
    return await askScope(access, scope, {
      path: 'examine-copy',
      query,
      content: { mediaType: EXPORT_MEDIA_TYPES[format], body },
      answer: examinedCopy,
      timeoutMs: EXAMINE_TIMEOUT_MS,
      local: (host, ref) => requireExamination(host).examineCopyLocal({ ...ref, ...query }, body),
    });
  } catch (error) {
    if (isUnable(error)) return null;
    throw error;
  } finally {
    await body.cancel().catch(() => undefined);
  }
}

/** Returns the state of a scope. An engine without history is asked all the same: it answers `unsupported` when sound. */
export async function presenceOf(
  access: VerticalAccess,
  scope: Pick<ScopeRecord, 'tenant' | 'id' | 'vertical'>,
): Promise<ScopePresence> {
  try {
    const query = { limit: 1 };
    await askScope(access, scope, {
      path: 'bookmarks',
      query,
      answer: bookmarksResponse,
      local: (host, ref) => host.migrationBookmarksLocal({ ...ref, ...query }),
    });
    return 'sound';
  } catch (error) {
    return presenceBy(error);
  }
}

/** Returns the state of a scope that a failed question shows. Other failures are no statement about its database. */
export function presenceBy(error: unknown): ScopePresence {
  if (!(error instanceof PlatformError)) return 'sound';
  if (error.reason === 'unknown_scope') return 'missing';
  return error.reason === 'unit_unreadable' ? 'damaged' : 'sound';
}

/** The word without which a vertical makes no scope. */
export function ifMissing(presence: ScopePresence): { readonly ifMissing?: 'make' } {
  return presence === 'missing' ? { ifMissing: 'make' } : {};
}

function requireExamination(host: VerticalScopeHost & Partial<ScopeExamination>): ScopeExamination {
  if (host.examineCopyLocal) return host as ScopeExamination;
  throw new PlatformError('unsupported', 'The scopes of this vertical look into no copy.', {
    reason: 'host_cannot',
  });
}

/** A vertical from before the route answers that its contract has none. */
function isUnable(error: unknown): boolean {
  if (!(error instanceof PlatformError)) return false;
  // The format that its engine cannot restore is a refusal.
  if (error.code === 'unsupported') return error.reason !== 'engine_cannot';
  return error.code === 'not_found' && error.reason === undefined;
}
