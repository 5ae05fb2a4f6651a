/** The contract of attachments: taken in whole or not at all, and opened by whom may read their record. */
import { createHash } from 'node:crypto';
import type { ActorId, AttachmentMeta } from '@freehold/contracts';
import { expect, test } from 'vitest';
import type { ScopeHostSetup } from './index.ts';
import { streamOf } from './memory-blob-store.ts';
import { clerk, type Library, librarian, openLibrary, visitor, withCapability } from './world.ts';

const entity = { type: 'book', id: 'b' };
const meta: AttachmentMeta = { entity, filename: 'cover.png', mediaType: 'image/png' };
const connection = 'con_01j00000000000000000000001';
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const read = async (body: ReadableStream<Uint8Array>) => new Response(body).text();

function attach({ host, ref }: Library, text: string, who: ActorId = librarian, more = {}) {
  return host.attachments.add(ref.scopeId, who, { ...meta, ...more }, streamOf(text, 5));
}

export function attachmentContract(setup: ScopeHostSetup): void {
  const capability = { capability: setup.capabilities.attachments, on: setup.name };
  withCapability(
    'an attachment',
    capability,
    () => {
      test('comes out as it went in, and is part of the story of its record', async () => {
        const opened = await openLibrary(setup);
        const { host, ref } = opened;
        const text = 'a cover '.repeat(100);
        const record = await attach(opened, text);
        expect(record).toMatchObject({ entity, bytes: 800, digest: digestOf(text), by: librarian });
        await opened.reopen();
        const { record: again, body } = await host.attachments.open(ref.scopeId, librarian, record.id);
        expect(again).toEqual(record);
        expect(await read(body)).toBe(text);
        const history = { ...ref, entityType: 'book', entityId: 'b', limit: 5 };
        expect((await host.entityHistoryLocal(history)).items).toMatchObject([
          { type: 'attachment.added', payload: { attachment: record.id, bytes: 800 } },
        ]);
      });

      test('is not for those who may not read its record, nor from those who may not write it', async () => {
        const opened = await openLibrary(setup);
        const { host, ref } = opened;
        const { id } = await attach(opened, 'x', clerk);
        const denied = { code: 'permission_denied' };
        await expect(attach(opened, 'x', visitor)).rejects.toMatchObject(denied);
        await expect(host.attachments.open(ref.scopeId, clerk, id)).rejects.toMatchObject(denied);
        await expect(host.attachments.list(ref.scopeId, visitor, entity)).rejects.toMatchObject(denied);
        await expect(host.attachments.remove(ref.scopeId, visitor, id)).rejects.toMatchObject(denied);
        expect(await host.attachments.list(ref.scopeId, librarian, entity)).toMatchObject([{ id }]);
      });

      test('that was removed is there no more', async () => {
        const opened = await openLibrary(setup);
        const { host, ref } = opened;
        const { id } = await attach(opened, 'x');
        await host.attachments.remove(ref.scopeId, librarian, id);
        await expect(host.attachments.open(ref.scopeId, librarian, id)).rejects.toMatchObject({
          code: 'not_found',
          reason: 'unknown_attachment',
        });
        expect(await host.attachments.list(ref.scopeId, librarian, entity)).toEqual([]);
      });

      test.each([
        ['other bytes than announced', { digest: digestOf('other') }, { reason: 'digest_mismatch' }],
        ['fewer than announced', { bytes: 99 }, { reason: 'length_mismatch' }],
        ['a record that has none', { entity: { type: 'loan', id: '1' } }, { reason: 'no_attachments' }],
        ['a name with a path', { filename: '../x' }, { reason: 'filename_malformed' }],
      ])('is refused, and nothing of it is kept: %s', async (_name, more, refusal) => {
        const opened = await openLibrary(setup);
        await expect(attach(opened, 'x', librarian, more)).rejects.toMatchObject(refusal);
        expect(await opened.count('_spine_attachments', '_spine_events')).toEqual([0, 0]);
      });

      test('of a connection takes its grant', async () => {
        const opened = await openLibrary(setup);
        const { host, ref } = opened;
        const upload = () =>
          host.connectorAttachmentUploadLocal({ ...ref, connection, meta }, streamOf('sent'));
        await expect(upload()).rejects.toMatchObject({ code: 'permission_denied' });
        for (const permission of ['book.add', 'book.read'])
          await host.connectorGrantLocal({ ...ref, connection, permission, entity });
        const { id, by } = await upload();
        expect(by).toBe(`connection:${connection}`);
        const { body } = await host.connectorAttachmentOpenLocal({ ...ref, connection, attachment: id });
        expect(await read(body)).toBe('sent');
      });
    },
    () => {
      test('is answered with unsupported', async () => {
        const opened = await openLibrary(setup);
        await expect(attach(opened, 'x')).rejects.toMatchObject({ code: 'unsupported' });
        expect(await opened.count('_spine_attachments')).toEqual([0]);
      });
    },
  );
}
