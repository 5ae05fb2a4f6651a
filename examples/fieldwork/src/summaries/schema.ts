/** A summary on the wire: what can be asked for, and how it comes. */
import { problemSchema, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { LANGUAGE_TAGS } from '../lib/languages.ts';
import { orderState } from '../orders/schema.ts';

export const languageTag = z.enum(LANGUAGE_TAGS);

/** `POST /api/orders/:order/summary` */
export const summaryBody = z.strictObject({
  language: languageTag,
  timeZone: z
    .string()
    .max(64)
    .refine(isTimeZone, 'must be a time zone such as Europe/Berlin')
    .default('UTC')
    .describe('What the times in the summary are of'),
  notes: z.boolean().default(false).describe('Whether what the team noted goes into it, too'),
});
export type SummaryBody = z.infer<typeof summaryBody>;

/** `GET /api/orders/:order/summary`: whether one can be asked for, and in which language first. */
export const summaryOffer = z.object({
  available: z.boolean(),
  /** The missing part, and the person who can add it; null when summaries are available. */
  detail: z.string().nullable(),
  /** The customer's when it is recorded, otherwise that of the application. */
  language: languageTag,
});
export type SummaryOffer = z.infer<typeof summaryOffer>;

/** Why the model stopped: only `stop` is a whole summary. */
const finish = z.enum(['stop', 'length', 'steps', 'other']);

/** The answer as JSON. */
export const summaryResponse = z.object({ text: z.string(), finish });

/** The answer as server-sent events: pieces of text, and one message that ends them. */
export const summaryMessage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('end'), finish }),
  z.object({ type: z.literal('problem'), problem: problemSchema }),
]);
export type SummaryMessage = z.infer<typeof summaryMessage>;

/** The facts about an order that may be told: without any name, number or address. */
export const orderStory = z.object({
  number: z.int(),
  title: z.string(),
  description: z.string().nullable(),
  state: orderState,
  scheduledFrom: timestamp.nullable(),
  scheduledTo: timestamp.nullable(),
  events: z
    .array(
      z.object({
        type: z.string(),
        at: timestamp,
        from: timestamp.optional(),
        to: timestamp.optional(),
        minutes: z.int().optional(),
        reason: z.string().optional(),
      }),
    )
    .describe('The newest of them, in the order in which they happened'),
  notes: z.array(z.object({ at: timestamp, text: z.string() })).describe('Empty unless asked for'),
  language: languageTag.nullable().describe('The customer’s; null when it is not recorded'),
});
export type OrderStory = z.infer<typeof orderStory>;

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}
