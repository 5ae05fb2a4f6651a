/** What the replacement of a token takes, whatever kind of token it is. */
import { z } from 'zod';
import { PUSH_TOKEN_DAYS_DEFAULT, TOKEN_DAYS_MAX } from './token-days.ts';

/** For how many hours the token that is replaced goes on working, unless the caller says otherwise. */
export const OVERLAP_HOURS_DEFAULT = 24;
/** A week: whoever has not changed over by then has forgotten it. */
const OVERLAP_HOURS_MAX = 168;

export const rotation = z.strictObject({
  overlapHours: z
    .int()
    .min(0)
    .max(OVERLAP_HOURS_MAX)
    .default(OVERLAP_HOURS_DEFAULT)
    .describe('For how long the replaced token goes on working; it never works longer than it did'),
  expiresInDays: z.int().min(1).max(TOKEN_DAYS_MAX).default(PUSH_TOKEN_DAYS_DEFAULT),
});
