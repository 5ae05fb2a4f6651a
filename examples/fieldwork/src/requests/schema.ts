/** An appointment that a visitor of the trader's own web site asks for, on the wire. */
import { idSchema, noteText, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { line, optionalLine, optionalNote } from '../lib/text.ts';

export const REQUEST_PREFIX = 'req';
export const requestId = idSchema(REQUEST_PREFIX);

/** The fields that a visitor fills in. One way to reach the visitor is required. */
export const requestFields = {
  name: line(100).describe('Who asks'),
  phone: optionalLine(50).default(null),
  email: z
    .union([z.email('must be an e-mail address'), z.literal('')])
    .nullable()
    .default(null)
    .transform((text) => (text === '' ? null : text)),
  what: noteText(1_000).describe('What is to be done'),
  when: optionalNote(200).default(null).describe('When it would suit, in words'),
};

export const requestOutput = z.object({
  id: requestId,
  name: z.string(),
  phone: z.string().nullable(),
  email: z.string().nullable(),
  what: z.string(),
  when: z.string().nullable(),
  receivedAt: timestamp,
});
export type AppointmentRequest = z.infer<typeof requestOutput>;
