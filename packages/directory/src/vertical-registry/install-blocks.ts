/** Blocks on new instances of a vertical, and the check of a provisioning against the registry. */
import { noteText, PlatformError, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import type { Actor } from '../access/actors.ts';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { params, tag } from '../declarations/vertical-listings.ts';
import type { InstallBlockRecord } from '../declarations/vertical-records.ts';
import { installBlockRecord } from '../declarations/vertical-records.ts';
import { type AuditEntry, type ChangeContext, change, type DelegatedHandler, read } from '../lib/handlers.ts';
import { targetOf } from './operations.ts';
import {
  type BlockRow,
  blocks,
  loadVertical,
  requireVertical,
  saveBlock,
  updateVertical,
  type VerticalRow,
} from './verticals-store.ts';

export const installBlockGet = adminOperation({
  name: 'install-blocks.get',
  summary: 'Get whether new instances of a vertical are refused',
  tag,
  method: 'GET',
  path: '/verticals/:slug/install-block',
  input: { params },
  output: installBlockRecord,
  builder: 'own-tenant',
  pushToken: 'deploy',
  etag: true,
});

export const readInstallBlock = /* @__PURE__ */ read(installBlockGet, ({ db }, { params, actor }) => {
  const { slug } = requireVertical(db, actor, params.slug);
  return { value: recordOf(slug, blocks.get(db, slug)) };
});

export const installBlockPut = adminOperation({
  name: 'install-blocks.put',
  summary: 'Refuse new instances of a vertical',
  description: 'Those that are there keep running. A caller who asks for one is told the reason.',
  tag,
  method: 'PUT',
  path: '/verticals/:slug/install-block',
  input: { params, body: z.strictObject({ reason: noteText(500) }) },
  output: installBlockRecord,
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  etag: true,
  problems: ['forbidden'],
});

export const putInstallBlock = /* @__PURE__ */ change(
  installBlockPut,
  (context, { params, body, actor, ifMatch }) => {
    const { db, revision } = context;
    const vertical = requireVertical(db, actor, params.slug);
    const before = blocks.get(db, vertical.slug);
    requireMatch(ifMatch, tagOf(before));
    requireOwnBlock(actor, before);
    const blockedBy = actor.kind === 'builder' ? 'owner' : 'platform';
    if (before && before.reason === body.reason && before.blockedBy === blockedBy)
      return { value: recordOf(vertical.slug, before), audit: null };
    const sinceMs = before?.sinceMs ?? context.now();
    const after: BlockRow = { reason: body.reason, blockedBy, revision, sinceMs };
    saveBlock(db, { vertical: vertical.slug, ...after });
    touch(context, vertical);
    const audit = { target: targetOf(vertical), before: fieldsOf(before), after: fieldsOf(after) };
    return { value: recordOf(vertical.slug, after), audit };
  },
);

export const installBlockDelete = adminOperation({
  name: 'install-blocks.delete',
  summary: 'Allow new instances of a vertical again',
  description: "A block of the platform's is lifted by staff only (reason platform_block).",
  tag,
  method: 'DELETE',
  path: '/verticals/:slug/install-block',
  input: { params },
  output: z.null(),
  success: 204,
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  etag: true,
  problems: ['forbidden'],
});

export const deleteInstallBlock = /* @__PURE__ */ change(
  installBlockDelete,
  (context, { params, actor, ifMatch }) => {
    const { db } = context;
    const vertical = requireVertical(db, actor, params.slug);
    const before = blocks.get(db, vertical.slug);
    requireMatch(ifMatch, tagOf(before));
    if (!before) return { audit: null };
    requireOwnBlock(actor, before);
    blocks.delete(db, vertical.slug);
    touch(context, vertical);
    return { audit: { target: targetOf(vertical), before: fieldsOf(before), after: null } };
  },
);

/**
 * Checks a provisioning against the registry: a vertical that is blocked, or that the caller must not see, gets no new
 * instance. A scope that exists already is answered as before, and keeps running.
 */
export function admittedByRegistry(provision: DelegatedHandler): DelegatedHandler {
  return {
    ...provision,
    begin: (context, call) => {
      const beginning = provision.begin(context, call);
      // An error rolls back the transaction, and with it the writes of the provisioning.
      if ('intent' in beginning) requireInstallable(context.db, call.actor, String(call.body.vertical));
      return beginning;
    },
  };
}

/**
 * A vertical that was never registered is known to the wiring alone, and is not checked.
 * @throws PlatformError `not_found`, reason `unknown_vertical`, for a builder and the private vertical of another
 * tenant; `conflict`, reason `install_blocked`.
 */
function requireInstallable(db: SqlDatabase, actor: Actor, slug: string): void {
  const vertical = loadVertical(db, slug);
  if (!vertical) return;
  if (actor.kind === 'builder' && vertical.tier === 'private' && vertical.ownerTenant !== actor.tenant)
    throw new PlatformError('not_found', `This platform has no vertical called ${slug}.`, {
      reason: 'unknown_vertical',
      errors: [{ path: 'vertical', message: 'names no vertical of this platform' }],
    });
  const block = blocks.get(db, slug);
  if (!block) return;
  throw new PlatformError('conflict', `${vertical.name} takes no new instances: ${block.reason}`, {
    reason: 'install_blocked',
  });
}

/** @throws PlatformError `forbidden`, reason `platform_block`. */
function requireOwnBlock(actor: Actor, block: BlockRow | undefined): void {
  if (actor.kind !== 'builder' || block?.blockedBy !== 'platform') return;
  throw new PlatformError('forbidden', 'Staff of this platform have blocked it, and only they change that.', {
    reason: 'platform_block',
  });
}

/** The vertical's record says whether it is blocked: it gets a new version. */
function touch({ db, now, revision }: ChangeContext, vertical: VerticalRow): void {
  updateVertical(db, { ...vertical, revision, updatedAtMs: now() });
}

function tagOf(row: BlockRow | undefined): string {
  return String(row?.revision ?? 0);
}

function fieldsOf(row: BlockRow | undefined): AuditEntry['after'] {
  return row ? { reason: row.reason, by: row.blockedBy } : null;
}

function recordOf(vertical: string, row: BlockRow | undefined): InstallBlockRecord {
  return {
    vertical,
    blocked: row !== undefined,
    reason: row?.reason ?? null,
    by: row?.blockedBy ?? null,
    since: row ? toTimestamp(row.sinceMs) : null,
    etag: tagOf(row),
  };
}
