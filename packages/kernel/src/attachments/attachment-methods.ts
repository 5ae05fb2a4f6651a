/**
 * Attachments inside a scope: rows with the owning record's permissions, and events in its history. The bytes are in a
 * blob store, and are stored before their row.
 */
import {
  type ActorId,
  type AttachmentRecord,
  actorId,
  attachmentMeta,
  type EntityRef,
  entityRef,
  PlatformError,
  type ProgramGrant,
  parseInput,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import type { ScopeMethods } from '../contract/scope-methods.ts';
import type { DenialStore } from '../denials/store.ts';
import { type OutsideParts, recordOutside } from '../events/outside.ts';
import { programColumn, programGrant } from '../lib/programs.ts';
import type { RequireEntity } from '../lib/values.ts';
import { demandOutside } from '../permissions/methods.ts';
import type { Permissions } from '../permissions/permissions.ts';
import type { Proof, Vertical } from '../vertical/vertical.ts';
import { makeAttachmentStore } from './store.ts';

const OF_ONE_MAX = 200;
/** The time for which bytes that are being removed get no record. */
const LEAVING_MS = 600_000;
/** The number of removed rows that are deleted at a time. */
const FORGOTTEN_PER_CALL = 500;

type AttachmentMethods = Pick<
  ScopeMethods,
  'checkAttach' | 'addAttachment' | 'attachment' | 'attachments' | 'removeAttachment' | 'heldBlobs'
>;

const caller = { principal: actorId, program: programGrant.optional() };
const addInput = z.strictObject({
  ...caller,
  meta: attachmentMeta.extend({
    digest: z.string().regex(/^[0-9a-f]{64}$/),
    bytes: z.int().min(0),
  }),
});
const oneInput = z.strictObject({ ...caller, id: z.string().max(64) });
const entityInput = z.strictObject({ ...caller, entity: entityRef });

/** A principal, perhaps through a program. */
interface Caller {
  readonly principal: ActorId;
  readonly program?: ProgramGrant | undefined;
}

export interface AttachmentParts extends OutsideParts {
  readonly vertical: Vertical;
  readonly permissions: Permissions;
  readonly denials: DenialStore;
  readonly requireEntity: RequireEntity;
  /** For the vertical's own rules. */
  readonly readOnlySql: SqlDatabase;
  /** The time for which the bytes of a removed attachment are kept: the window of a rewind, and a day. */
  readonly keptMs: number;
}

export function makeAttachmentMethods(parts: AttachmentParts): AttachmentMethods {
  const { vertical, unit } = parts;
  const store = makeAttachmentStore(unit.db);

  /** Demands the permission of the owning record. */
  const demand = (
    { principal, program }: Caller,
    named: EntityRef,
    access: 'read' | 'write' | 'remove',
  ): Proof => {
    const declared = Object.hasOwn(vertical.manifest.entities, named.type)
      ? vertical.manifest.entities[named.type]
      : undefined;
    if (!declared?.attachments)
      throw new PlatformError('validation_failed', `Records of type ${named.type} have no attachments.`, {
        reason: 'no_attachments',
      });
    const entity = parts.requireEntity(named, 'attachment');
    const permission = declared.attachments[access];
    if (permission === undefined)
      throw new PlatformError(
        'forbidden',
        `Attachments of records of type ${named.type} cannot be removed: the manifest declares no permission for it.`,
        { reason: 'attachments_not_removable' },
      );
    return demandOutside(parts, { principal, permission, entity, program, writes: access !== 'read' });
  };

  const requireOne = (id: string): AttachmentRecord => {
    const found = store.one(id);
    if (!found)
      throw new PlatformError('not_found', 'There is no such attachment.', { reason: 'unknown_attachment' });
    return found;
  };

  /** Adds an event to the record's history. The file name may be personal data, and is not in it. */
  const record = (
    type: string,
    attachment: AttachmentRecord,
    { principal, program: grant }: Caller,
    proof: Proof,
  ): void => {
    const { mediaType, bytes, digest } = attachment;
    recordOutside(parts, {
      type,
      entity: attachment.entity,
      operation: type === 'attachment.added' ? 'attachment/add' : 'attachment/remove',
      actor: principal,
      program: programColumn(grant),
      payload: { attachment: attachment.id, mediaType, bytes, digest },
      proof: JSON.stringify(proof),
    });
  };

  return {
    checkAttach: (input) => {
      const { entity, ...by } = parseInput('The attachment', entityInput, input);
      return demand(by, entity, 'write');
    },

    addAttachment: (input) => {
      const { meta, ...by } = parseInput('The attachment', addInput, input);
      const proof = demand(by, meta.entity, 'write');
      if (store.of(meta.entity, OF_ONE_MAX).length >= OF_ONE_MAX)
        throw new PlatformError('conflict', `A record has at most ${OF_ONE_MAX} attachments.`, {
          reason: 'attachments_full',
        });
      if (store.isLeaving(meta.digest, unit.now()))
        throw new PlatformError(
          'unavailable',
          'The same bytes were unused, and are being removed. Send them again in a few minutes.',
          { reason: 'blob_leaving', headers: { 'retry-after': String(LEAVING_MS / 1_000) } },
        );
      const id = unit.newId('att');
      store.insert({
        id,
        entityType: meta.entity.type,
        entityId: meta.entity.id,
        digest: meta.digest,
        bytes: meta.bytes,
        mediaType: meta.mediaType,
        filename: meta.filename,
        by: by.principal,
        atMs: unit.now(),
      });
      const added = requireOne(id);
      record('attachment.added', added, by, proof);
      return added;
    },

    attachment: (input) => {
      const { id, ...by } = parseInput('The attachment', oneInput, input);
      const found = requireOne(id);
      demand(by, found.entity, 'read');
      return found;
    },

    attachments: (input) => {
      const { entity, ...by } = parseInput('The record', entityInput, input);
      demand(by, entity, 'read');
      return store.of(entity, OF_ONE_MAX);
    },

    removeAttachment: (input) => {
      const { id, ...by } = parseInput('The attachment', oneInput, input);
      const { principal } = by;
      const found = requireOne(id);
      const proof = demand(by, found.entity, 'remove');
      const now = unit.now();
      vertical.requireRemovable?.({ sql: parts.readOnlySql, now, principal }, found);
      store.remove(id, now);
      record('attachment.removed', found, by, proof);
      return null;
    },

    heldBlobs: ({ digests, sinceMs = Number.POSITIVE_INFINITY }) => {
      const nowMs = unit.now();
      const afterMs = Math.min(nowMs - parts.keptMs, sinceMs);
      store.forget(afterMs, FORGOTTEN_PER_CALL);
      store.stay(nowMs);
      const held = new Set(digests.filter((digest) => store.isHeld(digest, afterMs)));
      // The caller removes the others soon. An upload of the same bytes at this moment would get a record without bytes,
      // so they get no record until that is over.
      for (const digest of digests) if (!held.has(digest)) store.leave(digest, nowMs + LEAVING_MS);
      return [...held];
    },
  };
}
