/** The contract of personal data: sealed for its person, read by the vertical, and gone once the person is (spec C-20). */
import type { ExportFormat } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import type { ScopeHostSetup } from './index.ts';
import { type Library, librarian, observed, openLibrary } from './world.ts';

const SECRET = 'Ada lives at Saint James Square 12';
const reader = 'rdr_ada';
const entity = { type: 'reader', id: reader };

const note = ({ run }: Library, who = reader, text = SECRET, extra = {}) =>
  run(librarian, 'reader/note', { reader: who, text }, extra);
const notes = ({ ask }: Library, who = reader) => ask(librarian, 'reader/notes', { reader: who });
const payloads = async ({ scope }: Library) =>
  (await scope.history({ entity, limit: 10 })).items.map(({ payload }) => payload);

/** The view of staff into a scope. */
async function seen({ host, ref }: Library): Promise<string> {
  const page = { ...ref, filters: [], order: 'asc' as const, limit: 50 };
  return JSON.stringify([
    await host.entityHistoryLocal({ ...ref, entityType: 'reader', entityId: reader, limit: 10 }),
    await host.introspectScopeTable({ ...page, table: '_spine_events' }),
    await host.introspectScopeTable({ ...page, table: '_spine_idempotency' }),
    await host.introspectScopeTable({ ...page, table: 'notes' }),
  ]);
}

export function erasureContract(setup: ScopeHostSetup): void {
  describe('what is said about a person', () => {
    test('is read by the vertical, and closed to everybody else', async () => {
      const opened = await openLibrary(setup);
      await note(opened, reader, SECRET, { idempotencyKey: 'k' });
      await note(opened, 'rdr_bob', 'Bob');
      expect(await notes(opened)).toEqual([SECRET]);
      expect(await payloads(opened)).toEqual([{ text: SECRET }]);
      const { host, ref } = opened;
      const history = { ...ref, entityType: 'reader', entityId: reader, limit: 10 };
      expect((await host.entityHistoryLocal(history)).items).toMatchObject([
        { piiClass: 'direct', subject: reader, payload: { $sealed: expect.any(String) } },
      ]);
      expect(await seen(opened)).not.toContain('Ada lives');
      expect(observed.incidents).toEqual([]);
    });

    test('is read by the vertical also after everything in memory is gone', async () => {
      const opened = await openLibrary(setup);
      const first = await note(opened, reader, SECRET, { idempotencyKey: 'k' });
      await opened.reopen();
      expect(await notes(opened)).toEqual([SECRET]);
      await opened.reopen();
      expect(await note(opened, reader, SECRET, { idempotencyKey: 'k' })).toEqual({
        ...first,
        replayed: true,
      });
    });
  });

  describe('a person whom a call makes', () => {
    const join = ({ ask }: Library, ...names: string[]) => ask<string[]>(librarian, 'reader/join', { names });

    test('has a key at once, and so has their family', async () => {
      const opened = await openLibrary(setup);
      const family = await join(opened, 'Ada', 'Byron', 'Annabella');
      expect(new Set(family).size).toBe(3);
      expect(await Promise.all(family.map((each) => notes(opened, each)))).toEqual([
        ['Ada'],
        ['Byron'],
        ['Annabella'],
      ]);
    });

    test('keeps that key after everything in memory is gone', async () => {
      const opened = await openLibrary(setup);
      const family = await join(opened, 'Ada', 'Byron');
      await opened.reopen();
      expect(await Promise.all(family.map((each) => notes(opened, each)))).toEqual([['Ada'], ['Byron']]);
      const receipt = await opened.host.shredSubjectLocal({ ...opened.ref, subject: family[0] as string });
      expect(receipt.keyDigest).toMatch(/^[0-9a-f]{64}$/);
      await opened.reopen();
      expect(await Promise.all(family.map((each) => notes(opened, each)))).toEqual([[], ['Byron']]);
    });

    test('is another one than whom another call makes, be it in the same words at the same time', async () => {
      const opened = await openLibrary(setup);
      const [one, other] = await Promise.all([join(opened, 'Ada'), join(opened, 'Ada')]);
      const [third] = await join(opened, 'Ada');
      expect(new Set([...one, ...other, third]).size).toBe(3);
      expect(await opened.count('notes')).toEqual([3]);
    });
  });

  describe('an erased person', () => {
    test('is gone, and no other person is', async () => {
      const opened = await openLibrary(setup);
      const { host, ref } = opened;
      await note(opened);
      await note(opened, 'rdr_bob', 'Bob');
      const receipt = await host.shredSubjectLocal({ ...ref, subject: reader });
      expect(receipt).toEqual({
        subject: reader,
        keyDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
        shreddedAt: expect.stringMatching(/Z$/),
      });
      expect(await payloads(opened)).toEqual([{ $shredded: { at: receipt.shreddedAt } }]);
      expect(await notes(opened)).toEqual([]);
      expect(await notes(opened, 'rdr_bob')).toEqual(['Bob']);
      await opened.reopen();
      expect(await payloads(opened)).toEqual([{ $shredded: { at: receipt.shreddedAt } }]);
    });

    test('is erased once: the receipt is the same, and nothing more is kept', async () => {
      const opened = await openLibrary(setup);
      const { host, ref } = opened;
      await note(opened);
      const receipt = await host.shredSubjectLocal({ ...ref, subject: reader });
      await opened.reopen();
      expect(await host.shredSubjectLocal({ ...ref, subject: reader })).toEqual(receipt);
      await expect(note(opened)).rejects.toMatchObject({ code: 'conflict', reason: 'subject_shredded' });
      expect(await opened.count('notes')).toEqual([0]);
    });

    test('may be an unknown person, of whom nothing can be kept afterwards', async () => {
      const opened = await openLibrary(setup);
      const receipt = await opened.host.shredSubjectLocal({ ...opened.ref, subject: reader });
      expect(receipt).toMatchObject({ subject: reader, keyDigest: null });
      await expect(note(opened)).rejects.toMatchObject({ code: 'conflict', reason: 'subject_shredded' });
    });

    test('is erased in one scope alone, also where its data was copied into another one', async () => {
      const { copies } = setup.capabilities;
      if ('missing' in copies) return;
      const format = copies[0] as ExportFormat;
      const one = await openLibrary(setup);
      const other = await openLibrary(setup, undefined, one);
      await note(one);
      const [made = ''] = (await one.ask(librarian, 'reader/join', { names: ['Byron'] })) as string[];
      const { body } = await one.host.exportScopeLocal({ ...one.ref, format });
      await other.host.restoreScopeLocal({ ...other.ref, format }, body);
      expect(await payloads(other)).toEqual([{ text: SECRET }]);
      expect([await notes(other), await notes(other, made)]).toEqual([[SECRET], ['Byron']]);
      await one.host.shredSubjectLocal({ ...one.ref, subject: reader });
      await other.host.shredSubjectLocal({ ...other.ref, subject: made });
      expect([await notes(one), await notes(one, made)]).toEqual([[], ['Byron']]);
      await other.reopen();
      expect([await notes(other), await notes(other, made)]).toEqual([[SECRET], []]);
    });

    test('is still known in another scope of the same tenant', async () => {
      const one = await openLibrary(setup);
      const other = await openLibrary(setup);
      await note(one);
      await note(other);
      await one.host.shredSubjectLocal({ ...one.ref, subject: reader });
      expect(await payloads(other)).toEqual([{ text: SECRET }]);
    });
  });
}
