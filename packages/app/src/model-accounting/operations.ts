/**
 * The accounting of language models: permission is asked before each call, and its tokens are recorded after it. Both
 * are operations of the assistant; the model is called between them.
 */
import { MODEL_USAGE_KIND, PlatformError } from '@freehold/contracts';
import { type OperationContext, operation } from '@freehold/kernel';
import { z } from 'zod';
import {
  ASSISTANT_ENTITLEMENT,
  accountInput,
  admitInput,
  assistantEntitlement,
  CALL_PREFIX,
  callId,
} from './schema.ts';
import { addTokens, countWaiting, insertCall, takeCall, tokensOf } from './store.ts';

/** The kernel stores 1,000 requests for the platform; beyond this, a paid call might not be recorded. */
const WAITING_MAX = 900;

export const modelOperations = {
  'model/admit': operation({
    summary: 'Allow a call of a language model, or refuse it',
    input: admitInput,
    output: z.object({ call: callId }),
    permission: 'model.account',
    mcp: false,
    run: (ctx, { access, tokensMonthly, tokens }) => {
      const limit = requireEntitled(ctx, access) ?? tokensMonthly;
      const month = monthOf(ctx.now);
      if (limit !== null && tokensOf(ctx.sql, month) >= limit) throw usedUp(ctx.now);
      if (countWaiting(ctx.sql, WAITING_MAX) >= WAITING_MAX)
        throw new PlatformError(
          'unavailable',
          'The platform has not collected yet what earlier calls of the language model took. Ask its operator.',
          { reason: 'model_accounting_full' },
        );
      const call = ctx.newId(CALL_PREFIX);
      insertCall(ctx.sql, call, { month, reserved: tokens }, ctx.now);
      addTokens(ctx.sql, month, tokens);
      return { call };
    },
  }),

  'model/account': operation({
    summary: 'Write down what a call of a language model took, and tell the platform',
    input: accountInput,
    output: z.object({ counted: z.boolean().describe('False for a call that was counted before') }),
    permission: 'model.account',
    mcp: false,
    run: (ctx, { call, line }) => {
      const open = takeCall(ctx.sql, call);
      if (!open) return { counted: false };
      const stated = line === null ? 0 : line.inputTokens + line.outputTokens;
      // A provider that does not say what it took is taken to have taken all that it could.
      const taken = line === null || line.reported ? stated : Math.max(stated, open.reserved);
      addTokens(ctx.sql, open.month, taken - open.reserved);
      if (line !== null) ctx.requestPlatform(MODEL_USAGE_KIND, line);
      return { counted: true };
    },
  }),
};

/**
 * The monthly tokens of the tenant's entitlement; null where the platform's FREEHOLD_MODEL_TOKENS_MONTHLY counts.
 * @throws PlatformError `forbidden`, reason `model_not_entitled`.
 */
function requireEntitled(ctx: OperationContext, access: 'all' | 'entitled'): number | null {
  const given = ctx.entitlement(ASSISTANT_ENTITLEMENT);
  if (given === null && access === 'all') return null;
  const { data } = assistantEntitlement.safeParse(given);
  if (data) return data.quota;
  throw new PlatformError(
    'forbidden',
    'Language models are not among what this business has booked. The operator of the platform can add them.',
    { reason: 'model_not_entitled' },
  );
}

function usedUp(nowMs: number): PlatformError {
  const now = new Date(nowMs);
  const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(next);
  return new PlatformError(
    'rate_limited',
    `What language models may take this month is used up. They can be asked again from ${day} on.`,
    { reason: 'model_budget', headers: { 'retry-after': String(Math.ceil((next - nowMs) / 1_000)) } },
  );
}

/** `2026-03`, of UTC: the operator of the platform pays by that. */
function monthOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 7);
}
