/** Notes: each declaration is a route, its validation, its documentation and a tool for language models. */
import {
  cutPage,
  decodeCursor,
  defineOperations,
  idSchema,
  noteText,
  operation,
  PlatformError,
  pageOf,
  pageQuery,
  type SqlDatabase,
  timestamp,
  toTimestamp,
} from '@freehold/app';
import { z } from 'zod';

const noteId = idSchema('not');
const note = z.object({
  id: noteId,
  text: z.string(),
  createdAt: timestamp,
  completedAt: timestamp.nullable().describe('Null until the note is completed'),
});

export const noteOperations = defineOperations({
  'note/list': operation({
    summary: 'List notes, newest first',
    input: z.strictObject(pageQuery),
    output: pageOf(note),
    permission: 'note.read',
    http: { method: 'GET', path: '/api/notes' },
    run: ({ sql }, { limit, cursor }) => {
      const before = cursor === undefined ? '~' : decodeCursor(cursor);
      const rows = sql.all<Row>(`${SELECT} WHERE id < ? ORDER BY id DESC LIMIT ?`, before, limit + 1);
      return cutPage(rows, limit, ({ id }) => id, present);
    },
  }),

  'note/get': operation({
    summary: 'Show a note',
    input: z.strictObject({ note: noteId }),
    output: note,
    permission: 'note.read',
    entity: (input) => ({ type: 'note', id: input.note }),
    http: { method: 'GET', path: '/api/notes/:note' },
    run: ({ sql }, input) => load(sql, input.note),
  }),

  'note/create': operation({
    summary: 'Write a note',
    input: z.strictObject({ text: noteText(2_000) }),
    output: note,
    permission: 'note.write',
    http: { method: 'POST', path: '/api/notes' },
    created: ({ id }) => ({ type: 'note', id }),
    run: (ctx, { text }) => {
      const id = ctx.newId('not');
      ctx.sql.run('INSERT INTO notes (id, text, created_at) VALUES (?, ?, ?)', id, text, ctx.now);
      // Events are kept for good, so they hold no text that a person wrote.
      ctx.emit({ type: 'note.created', entity: { type: 'note', id } });
      return load(ctx.sql, id);
    },
  }),

  'note/complete': operation({
    summary: 'Complete a note',
    input: z.strictObject({ note: noteId }),
    output: note,
    permission: 'note.write',
    entity: (input) => ({ type: 'note', id: input.note }),
    http: { method: 'POST', path: '/api/notes/:note/complete' },
    run: (ctx, { note: id }) => {
      if (load(ctx.sql, id).completedAt !== null)
        throw new PlatformError('invalid_transition', 'This note is completed already.', {
          reason: 'already_completed',
        });
      ctx.sql.run('UPDATE notes SET completed_at = ? WHERE id = ?', ctx.now, id);
      ctx.emit({ type: 'note.completed', entity: { type: 'note', id } });
      return load(ctx.sql, id);
    },
  }),
});

interface Row {
  readonly id: string;
  readonly text: string;
  readonly createdAt: number;
  readonly completedAt: number | null;
}

const SELECT = 'SELECT id, text, created_at AS createdAt, completed_at AS completedAt FROM notes';

/** @throws PlatformError `not_found` */
function load(sql: SqlDatabase, id: string): z.infer<typeof note> {
  const row = sql.get<Row>(`${SELECT} WHERE id = ?`, id);
  if (!row) throw new PlatformError('not_found', 'There is no such note.', { reason: 'unknown_note' });
  return present(row);
}

function present({ createdAt, completedAt, ...row }: Row): z.infer<typeof note> {
  const completed = completedAt === null ? null : toTimestamp(completedAt);
  return { ...row, createdAt: toTimestamp(createdAt), completedAt: completed };
}
