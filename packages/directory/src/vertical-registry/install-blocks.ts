/** Whether new instances of a vertical are refused, and the check of a provisioning against the registry. */

import { PlatformError, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import type { Actor } from '../actors.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { params, tag } from '../declarations/vertical-listings.ts';
import type { InstallBlockRecord } from '../declarations/vertical-records.ts';
import { installBlockRecord } from '../declarations/vertical-records.ts';
import { type AuditEntry, type ChangeContext, change, type DelegatedHandler, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { targetOf } from './operations.ts';
import { loadVertical, requireVertical, updateVertical, type VerticalRow } from './verticals-store.ts';

interface BlockRow {
  readonly reason: string;
  readonly blockedBy: 'platform' | 'owner';
  readonly revision: number;
  readonly sinceMs: number;
}

export const installBlockGet = adminOperation({
  name: 'install-blocks.get',
  summary: 'Get whether new instances of a vertical are refused',
  tag,
  method: 'GET',
  path: '/verticals/:slug/install-block',
  input: { params },
  output: installBlockRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
});

export const readInstallBlock = /* @__PURE__ */ read(installBlockGet, ({ db }, { params, actor }) => {
  const { slug } = requireVertical(db, actor, params.slug);
  const value = recordOf(slug, load(db, slug));
  return { value, etag: value.etag };
});

export const installBlockPut = adminOperation({
  name: 'install-blocks.put',
  summary: 'Refuse new instances of a vertical',
  description: 'Those that are there keep running. Whoever asks for one is told the reason.',
  tag,
  method: 'PUT',
  path: '/verticals/:slug/install-block',
  input: { params, body: z.strictObject({ reason: z.string().min(1).max(500) }) },
  output: installBlockRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['forbidden'],
});

export const putInstallBlock = /* @__PURE__ */ change(
  installBlockPut,
  (context, { params, body, actor, ifMatch }) => {
    const { db, revision } = context;
    const vertical = requireVertical(db, actor, params.slug);
    const before = load(db, vertical.slug);
    requireMatch(ifMatch, tagOf(before));
    requireOwnBlock(actor, before);
    const blockedBy = actor.kind === 'builder' ? 'owner' : 'platform';
    if (before && before.reason === body.reason && before.blockedBy === blockedBy) {
      const value = recordOf(vertical.slug, before);
      return { status: 200, value, etag: value.etag, audit: null };
    }
    const sinceMs = before?.sinceMs ?? context.now();
    const after: BlockRow = { reason: body.reason, blockedBy, revision, sinceMs };
    db.run(
      `INSERT INTO install_blocks (vertical, reason, blocked_by, revision, since) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (vertical) DO UPDATE SET reason = excluded.reason, blocked_by = excluded.blocked_by,
       revision = excluded.revision`,
      ...[vertical.slug, after.reason, after.blockedBy, after.revision, after.sinceMs],
    );
    touch(context, vertical);
    const value = recordOf(vertical.slug, after);
    const audit = { target: targetOf(vertical), before: fieldsOf(before), after: fieldsOf(after) };
    return { status: 200, value, etag: value.etag, audit };
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
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['forbidden'],
});

export const deleteInstallBlock = /* @__PURE__ */ change(
  installBlockDelete,
  (context, { params, actor, ifMatch }) => {
    const { db } = context;
    const vertical = requireVertical(db, actor, params.slug);
    const before = load(db, vertical.slug);
    requireMatch(ifMatch, tagOf(before));
    if (!before) return { status: 204, value: null, audit: null };
    requireOwnBlock(actor, before);
    db.run('DELETE FROM install_blocks WHERE vertical = ?', vertical.slug);
    touch(context, vertical);
    const audit = { target: targetOf(vertical), before: fieldsOf(before), after: null };
    return { status: 204, value: null, audit };
  },
);

/**
 * Puts the registry's word in front of a provisioning: a vertical that is blocked, or that is not the caller's to see,
 * gets no new instance. A scope that is there already is answered as ever, and keeps running.
 */
export function admittedByRegistry(provision: DelegatedHandler): DelegatedHandler {
  return {
    ...provision,
    begin: (context, call) => {
      const beginning = provision.begin(context, call);
      // What it wrote goes with the transaction that this throws out of.
      if ('intent' in beginning) requireInstallable(context.db, call.actor, String(call.body.vertical));
      return beginning;
    },
  };
}

/**
 * A vertical that was never registered is the wiring's alone, and is not held up.
 * @throws PlatformError `not_found`, reason `unknown_vertical`, for a builder and the private vertical of another
 * tenant; `conflict`, reason `install_blocked`.
 */
export function requireInstallable(db: SqlDatabase, actor: Actor, slug: string): void {
  const vertical = loadVertical(db, slug);
  if (!vertical) return;
  if (actor.kind === 'builder' && vertical.tier === 'private' && vertical.ownerTenant !== actor.tenant)
    throw new PlatformError('not_found', `This platform has no vertical called ${slug}.`, {
      reason: 'unknown_vertical',
      errors: [{ path: 'vertical', message: 'names no vertical of this platform' }],
    });
  const block = load(db, slug);
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

/** The vertical's record says whether it is blocked, so that it is another one now. */
function touch({ db, now, revision }: ChangeContext, vertical: VerticalRow): void {
  updateVertical(db, { ...vertical, revision, updatedAtMs: now() });
}

function load(db: SqlDatabase, slug: string): BlockRow | undefined {
  return db.get<BlockRow>(
    'SELECT reason, blocked_by AS blockedBy, revision, since AS sinceMs FROM install_blocks WHERE vertical = ?',
    slug,
  );
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
