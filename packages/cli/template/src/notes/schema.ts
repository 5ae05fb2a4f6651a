/** The wire format of a note. */
import { idSchema, noteText, timestamp } from '@freehold/contracts';
import { z } from 'zod';

export const NOTE_PREFIX = 'not';
export const noteId = idSchema(NOTE_PREFIX);

/** Line ends stay as they were sent. */
export const noteBody = noteText(2_000);

export const noteOutput = z.object({
  id: noteId,
  text: z.string(),
  createdAt: timestamp,
  /** Null until the note is completed. */
  completedAt: timestamp.nullable(),
});
export type Note = z.infer<typeof noteOutput>;
