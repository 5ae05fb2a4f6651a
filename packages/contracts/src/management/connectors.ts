/** The writes of a connection into a scope (spec 4.4, D-02): operations, attachments, and its own grant. */
import { z } from 'zod';
import { idSchema, timestamp } from '../ids.ts';
import { permissionKey } from '../manifest.ts';
import { entityRef } from '../operations.ts';
import { scopeRef } from './shared.ts';

export const connectionId = idSchema('con');

/** Runs one operation as the connection. */
export const connectorInvokeRequest = z.strictObject({
  ...scopeRef.shape,
  connection: connectionId,
  operation: z.string().max(128),
  input: z.unknown(),
  idempotencyKey: z.string().min(1).max(255).optional(),
});
export const connectorInvokeResponse = z.object({
  output: z.unknown(),
  invocation: z.string().nullable(),
  version: z.string().nullable(),
  replayed: z.boolean(),
});

/** Gives the connection one permission in the scope. Repeating it changes nothing. */
export const connectorGrantRequest = z.strictObject({
  ...scopeRef.shape,
  connection: connectionId,
  permission: permissionKey,
  entity: entityRef.optional(),
});
/** The tuple that was granted. No credential is ever in it. */
export const connectorGrantResponse = z
  .object({
    subject: z.string().regex(/^connection:con_/),
    permission: permissionKey,
    entity: entityRef.nullable(),
  })
  .meta({ id: 'ConnectorGrant' });

export const attachmentId = idSchema('att');
export const attachmentRecord = z
  .object({
    id: attachmentId,
    /** The record that it belongs to, with the permission to read both. */
    entity: entityRef,
    filename: z.string(),
    mediaType: z.string(),
    bytes: z.int(),
    /** SHA-256 of the bytes, hexadecimal. */
    digest: z.string(),
    by: z.string(),
    at: timestamp,
  })
  .meta({ id: 'Attachment' });

/** The description beside the bytes. `digest` and `bytes`, when given, must be those of the received file. */
export const attachmentMeta = z.strictObject({
  entity: entityRef,
  filename: z.string().min(1).max(255),
  mediaType: z
    .string()
    .regex(/^[\w.+-]+\/[\w.+-]+$/)
    .max(127),
  digest: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  bytes: z.int().min(0).optional(),
});
/** The field `meta` of an upload: connection, record, and description of the field `file`. */
export const connectorAttachmentRequest = z.strictObject({
  ...scopeRef.shape,
  connection: connectionId,
  ...attachmentMeta.shape,
});

/** The header with the record of a download: base64url of its JSON. */
export const ATTACHMENT_RECORD_HEADER = 'x-attachment-record';

export const connectorAttachmentRef = z.strictObject({
  ...scopeRef.shape,
  connection: connectionId,
  attachment: attachmentId,
});

export type ConnectorInvoke = z.infer<typeof connectorInvokeRequest>;
export type ConnectorGrant = z.infer<typeof connectorGrantRequest>;
export type ConnectorGranted = z.infer<typeof connectorGrantResponse>;
export type AttachmentRecord = z.infer<typeof attachmentRecord>;
export type AttachmentMeta = z.infer<typeof attachmentMeta>;

/** An attachment that is open for reading. */
export interface OpenAttachment {
  readonly record: AttachmentRecord;
  readonly body: ReadableStream<Uint8Array>;
}
