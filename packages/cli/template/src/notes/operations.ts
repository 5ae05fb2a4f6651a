/** The operations on notes. Each declaration is the route, its validation and its documentation. */
import { PlatformError, pageOf, pageQuery } from '@freehold/contracts';
import { operation } from '@freehold/kernel';
import { z } from 'zod';
import { NOTE_PREFIX, noteBody, noteId, noteOutput } from './schema.ts';
import { completeNote, insertNote, listNotes, loadNote } from './store.ts';

export const noteOperations = {
  'note/list': operation({
    summary: 'List notes, newest first',
    input: z.strictObject(pageQuery),
    output: pageOf(noteOutput),
    permission: 'note.read',
    http: { method: 'GET', path: '/api/notes' },
    run: (ctx, input) => listNotes(ctx.sql, input),
  }),

  'note/create': operation({
    summary: 'Write a note',
    input: z.strictObject({ text: noteBody }),
    output: noteOutput,
    permission: 'note.write',
    http: { method: 'POST', path: '/api/notes' },
    run: (ctx, { text }) => {
      const id = ctx.newId(NOTE_PREFIX);
      insertNote(ctx.sql, { id, text, nowMs: ctx.now });
      // Events are kept forever, so they hold no text that a person wrote.
      ctx.emit({ type: 'note.created', entity: { type: 'note', id } });
      return loadNote(ctx.sql, id);
    },
  }),

  'note/complete': operation({
    summary: 'Complete a note',
    input: z.strictObject({ note: noteId }),
    output: noteOutput,
    permission: 'note.write',
    entity: (input) => ({ type: 'note', id: input.note }),
    http: { method: 'POST', path: '/api/notes/:note/complete' },
    run: (ctx, { note }) => {
      if (loadNote(ctx.sql, note).completedAt !== null) {
        throw new PlatformError('invalid_transition', 'This note is completed already.', {
          reason: 'already_completed',
        });
      }
      completeNote(ctx.sql, note, ctx.now);
      ctx.emit({ type: 'note.completed', entity: { type: 'note', id: note } });
      return loadNote(ctx.sql, note);
    },
  }),
};
