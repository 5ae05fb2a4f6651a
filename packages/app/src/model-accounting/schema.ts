/** The counts of language models: whether a call may be made, and its tokens. */
import { modelUsageLine } from '@freehold/contracts';
import { z } from 'zod';

export const CALL_PREFIX = 'mdl';
export const callId = z.string().regex(/^mdl_[0-9a-z]{26}$/);

/** The tenants that may call models: all of them, or those with the entitlement alone. */
export const modelAccess = z.enum(['all', 'entitled']);
export type ModelAccess = z.infer<typeof modelAccess>;

export const usageInput = z.strictObject({
  access: modelAccess,
  /** The most that all calls of a month may take, where the entitlement says nothing else; null for no limit. */
  tokensMonthly: z.int().min(0).nullable(),
});

export const admitInput = z.strictObject({
  ...usageInput.shape,
  /** The most that this call can take. It counts until the line of the call says what it was. */
  tokens: z.int().min(1),
});

export const accountInput = z.strictObject({
  call: callId,
  line: modelUsageLine.nullable().describe('Null for a call that took nothing'),
});

/**
 * The entitlement `assistant` of a tenant: its quota is tokens of a calendar month (UTC); null means that the platform's
 * FREEHOLD_MODEL_TOKENS_MONTHLY counts. Any other value is unknown, and permits nothing.
 */
export const assistantEntitlement = z.looseObject({ quota: z.int().min(0).nullable() });
export const ASSISTANT_ENTITLEMENT = 'assistant';
