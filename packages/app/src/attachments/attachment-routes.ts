/** The files of a record: taken in as they are sent, listed, handed out, removed. */
import { type EntityRef, PlatformError, type ScopeId } from '@freehold/contracts';
import { entityTag, isUnchanged, queryFields, textReader } from '@freehold/contracts/http';
import { ATTACHMENT_BYTES_MAX } from '@freehold/kernel';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import type { AddressedRecord } from '../declaration/records.ts';
import { actingCaller, type MemberCaller, requireNode } from '../request/caller.ts';
import { nameActors } from '../request/people.ts';
import { readRecord } from '../request/records.ts';
import { mountRoutes, type Route, readBody } from '../request/routes.ts';
import { type AttachmentEntry, type AttachmentList, emptyBody } from '../wire/wire.ts';
import { requestedRange } from './byte-range.ts';

/** Types that a browser may show within the page. None can carry a script: no SVG, no PDF, no page. */
const SHOWN_TYPES: ReadonlySet<string> = new Set([
  'image/jpeg',
  'image/png',
  'image/webp',
  'image/gif',
  'image/avif',
]);
/** Types that a page of ours would run or apply if it were made to refer to the file: they are answered as bytes. */
const RUN_TYPES = /(?:java|ecma|live|j)script|\/css\b|\/wasm\b/;
/** The type of a file without a declared one. */
const ANY_TYPE = 'application/octet-stream';

export function mountAttachments(app: Hono<AppEnv>, services: Services): void {
  mountRoutes(
    app,
    services.app.records
      .filter(({ attachments }) => attachments)
      .flatMap((record) => routesOf(services, record)),
  );
}

function routesOf(services: Services, record: AddressedRecord): Route[] {
  const path = `${record.path}/attachments`;
  return [
    { method: 'GET', path, answer: (c) => list(services, c, record) },
    { method: 'POST', path, answer: (c) => add(services, c, record) },
    { method: 'GET', path: `${path}/:attachment`, answer: (c) => download(services, c, record) },
    { method: 'POST', path: `${path}/:attachment/remove`, answer: (c) => remove(services, c, record) },
  ];
}

async function list(services: Services, c: AppContext, record: AddressedRecord): Promise<Response> {
  const { scope, caller, entity } = await attachTo(services, c, record);
  const records = await services.host.attachments.list(scope, caller, entity);
  const actorOf = await nameActors(
    services,
    c,
    records.map(({ by }) => by),
  );
  const items = records.map(
    ({ entity: _entity, digest: _digest, by, ...record }): AttachmentEntry => ({
      ...record,
      by: actorOf(by),
      image: SHOWN_TYPES.has(record.mediaType),
    }),
  );
  return c.json({ items, bytesMax: ATTACHMENT_BYTES_MAX } satisfies AttachmentList);
}

const readUpload = textReader('The query', z.strictObject({ filename: z.string() }));

/** The body is the file, its type is the content type, and its name is in the query. */
async function add(services: Services, c: AppContext, record: AddressedRecord): Promise<Response> {
  const { filename } = readUpload(queryFields(new URL(c.req.url)));
  const { scope, caller, entity } = await attachTo(services, c, record);
  if (c.req.header('content-encoding') !== undefined)
    throw new PlatformError('unsupported_media_type', 'The file must not be compressed on the way.');
  const bytes = c.req.header('content-length');
  const added = await services.host.attachments.add(
    scope,
    caller,
    {
      entity,
      filename,
      mediaType: mediaTypeOf(c.req.header('content-type')),
      ...(bytes === undefined ? {} : { bytes: Number(bytes) }),
    },
    c.req.raw.body ?? new Blob().stream(),
  );
  return c.json({ id: added.id }, 201);
}

const readShow = textReader('The query', z.strictObject({ show: z.literal('inline').optional() }));

async function download(services: Services, c: AppContext, addressed: AddressedRecord): Promise<Response> {
  const { show } = readShow(queryFields(new URL(c.req.url)));
  const { scope, caller, id, bytes, digest } = await attachmentOf(services, c, addressed);
  const etag = entityTag(digest);
  if (isUnchanged(c.req.header('if-none-match'), digest))
    return new Response(null, { status: 304, headers: { etag } });
  // A part of another version than the caller's would not fit the rest: they get the whole (RFC 9110, section 13.1.5).
  const isSame = (c.req.header('if-range') ?? etag) === etag;
  const range = requestedRange(isSame ? c.req.header('range') : undefined, bytes);
  const { start, end } = range ?? { start: 0, end: bytes };
  const { attachments } = services.host;
  const { record, body } = await attachments.open(scope, caller, id, range ?? undefined);
  const isShown = show === 'inline' && SHOWN_TYPES.has(record.mediaType);
  const isHead = c.req.method === 'HEAD';
  // The answer has no body, and an unread stream keeps its file open.
  if (isHead) await body.cancel();
  return new Response(isHead ? null : body, {
    status: range ? 206 : 200,
    headers: {
      'content-type': RUN_TYPES.test(record.mediaType) ? ANY_TYPE : record.mediaType,
      etag,
      'content-length': String(end - start),
      'accept-ranges': 'bytes',
      ...(range ? { 'content-range': `bytes ${start}-${end - 1}/${bytes}` } : {}),
      'content-disposition': `${isShown ? 'inline' : 'attachment'}; ${nameParameters(record.filename)}`,
      // A member's upload: whatever is in it may run nothing and load nothing.
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'same-origin',
    },
  });
}

async function remove(services: Services, c: AppContext, record: AddressedRecord): Promise<Response> {
  await readBody(c, emptyBody);
  const { scope, caller, id } = await attachmentOf(services, c, record);
  await services.host.attachments.remove(scope, caller, id);
  return c.json({ id });
}

interface Place {
  readonly scope: ScopeId;
  readonly caller: MemberCaller;
  readonly entity: EntityRef;
}

/**
 * The record of an address, for a member who may see it.
 * @throws PlatformError as `readRecord` does, and the application's own refusal for a record whose files are hidden.
 */
async function attachTo(services: Services, c: AppContext, record: AddressedRecord): Promise<Place> {
  const { entity, output } = await readRecord(services, c, record);
  const refused = services.app.attachments?.hidden?.(entity, output) ?? null;
  if (refused !== null) throw refused;
  const caller = await actingCaller(services, c);
  return { scope: requireNode(c).scope, caller, entity };
}

/** The attachment that an address names. One of another record is as unknown as none. */
async function attachmentOf(
  services: Services,
  c: AppContext,
  record: AddressedRecord,
): Promise<Place & { readonly id: string; readonly bytes: number; readonly digest: string }> {
  const place = await attachTo(services, c, record);
  const id = c.req.param('attachment') ?? '';
  const records = await services.host.attachments.list(place.scope, place.caller, place.entity);
  const found = records.find((each) => each.id === id);
  if (found) return { ...place, id, bytes: found.bytes, digest: found.digest };
  throw new PlatformError('not_found', 'There is no such attachment.', { reason: 'unknown_attachment' });
}

/** The type without its parameters; anything that is none is just bytes. */
function mediaTypeOf(header: string | undefined): string {
  const type = (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) && type.length <= 127 ? type : ANY_TYPE;
}

/** RFC 6266: the true name in UTF-8, and one in ASCII that cannot break out of its quotes. */
function nameParameters(filename: string): string {
  const ascii = filename.replaceAll(/[^\w. -]/g, '_');
  const encoded = encodeURIComponent(filename.toWellFormed()).replaceAll(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
