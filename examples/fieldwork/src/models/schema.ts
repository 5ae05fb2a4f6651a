/** What is counted about language models: whether a call may be made, and what it took. */
import { modelUsageLine } from '@freehold/contracts';
import { z } from 'zod';

export const CALL_PREFIX = 'mdl';
export const callId = z.string().regex(/^mdl_[0-9a-z]{26}$/);

/** Who may ask models: everybody, or tenants with the entitlement alone. */
export const modelAccess = z.enum(['all', 'entitled']);
export type ModelAccess = z.infer<typeof modelAccess>;

export const admitInput = z.strictObject({
  access: modelAccess,
  /** The most that all calls of a month may take, where the entitlement says nothing else; null for no limit. */
  tokensMonthly: z.int().min(0).nullable(),
  /** The most that this call can take. It counts until the line of the call says what it was. */
  tokens: z.int().min(1),
});

export const accountInput = z.strictObject({
  call: callId,
  line: modelUsageLine.nullable().describe('Null for a call that took nothing'),
});

/**
 * What the platform's staff gives a tenant under the key `assistant`: its quota is tokens of a calendar month (UTC), null
 * where it is not said. Anything else is not understood, and gives nothing.
 */
export const assistantEntitlement = z.looseObject({ quota: z.int().min(0).nullable() });
export const ASSISTANT_ENTITLEMENT = 'assistant';
