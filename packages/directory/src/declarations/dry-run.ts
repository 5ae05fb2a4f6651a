/** How a plan is asked for: the query field of every operation that has one (design: control-plane, "Long work"). */
import { z } from 'zod';

/**
 * Asks for the plan: the answer says what would be touched, after the checks of the real call. Nothing is written down,
 * no idempotency key is kept, and nobody elsewhere is asked to change anything.
 */
export const dryRun = z.boolean().optional().describe('True answers the plan, and changes nothing');

/** The query of an operation that takes nothing else there. */
export const dryRunQuery = z.strictObject({ dryRun });

/** How many of something there are. */
export const planCount = z.int().min(0);

/** What a change of state does to what is served. */
export const servingEffect = z.enum(['stops', 'resumes', 'none']);
