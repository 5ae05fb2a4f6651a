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
  usageInput,
} from './schema.ts';
import { addTokens, countWaiting, insertCall, takeCall, tokensOf } from './store.ts';

/** The kernel stores 1,000 requests for the platform; beyond this, a paid call might not be recorded. */
const WAITING_MAX = 900;

/**
 * The operations that `models: true` adds, for the service `assistant` alone: `model/admit`, `model/usage` and
 * `model/account`.
 */
export const modelOperations = {
  'model/admit': operation({
    summary: 'Allow a call of a language model, or refuse it',
    input: admitInput,
    output: z.object({ call: callId }),
    permission: 'model.account',
    mcp: false,
    run: (ctx, { access, tokensMonthly, tokens }) => {
      const { month, refused } = accountOf(ctx, { access, tokensMonthly });
      if (refused !== null) throw refused;
      const call = ctx.newId(CALL_PREFIX);
      insertCall(ctx.sql, call, { month, reserved: tokens }, ctx.now);
      addTokens(ctx.sql, month, tokens);
      return { call };
    },
  }),

  'model/usage': operation({
    summary: 'Say what language models took this month, and whether they can be asked',
    input: usageInput,
    output: z.object({
      month: z.string().describe('Such as 2026-03, of UTC'),
      tokens: z.int().describe('Of the calls of the month; a call in progress counts with its maximum'),
      limit: z.int().nullable().describe('The most tokens of the month; null for no limit'),
      refused: z
        .object({ reason: z.string(), detail: z.string() })
        .nullable()
        .describe('The refusal that a call would meet now'),
    }),
    permission: 'model.account',
    readOnly: true,
    mcp: false,
    run: (ctx, input) => {
      const { refused, ...account } = accountOf(ctx, input);
      return {
        ...account,
        refused: refused && { reason: refused.reason ?? refused.code, detail: refused.message },
      };
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

interface Account {
  readonly month: string;
  readonly tokens: number;
  /** Null for no limit. */
  readonly limit: number | null;
  /** The refusal of a call at this moment. */
  readonly refused: PlatformError | null;
}

/**
 * The account of the month. The quota of the tenant's entitlement counts before FREEHOLD_MODEL_TOKENS_MONTHLY of the
 * platform. The refusals: `forbidden`, reason `model_not_entitled`; `rate_limited`, reason `model_budget`; `unavailable`,
 * reason `model_accounting_full`.
 */
function accountOf(ctx: OperationContext, { access, tokensMonthly }: z.infer<typeof usageInput>): Account {
  const given = ctx.entitlement(ASSISTANT_ENTITLEMENT);
  const { data: entitled } = assistantEntitlement.safeParse(given);
  const limit = entitled?.quota ?? tokensMonthly;
  const month = monthOf(ctx.now);
  const tokens = tokensOf(ctx.sql, month);
  const isOpen = entitled !== undefined || (given === null && access === 'all');
  const refused = !isOpen
    ? notEntitled()
    : limit !== null && tokens >= limit
      ? usedUp(ctx.now)
      : countWaiting(ctx.sql, WAITING_MAX) >= WAITING_MAX
        ? accountingFull()
        : null;
  return { month, tokens, limit, refused };
}

function notEntitled(): PlatformError {
  return new PlatformError(
    'forbidden',
    'Language models are not among what this business has booked. The operator of the platform can add them.',
    { reason: 'model_not_entitled' },
  );
}

function accountingFull(): PlatformError {
  return new PlatformError(
    'unavailable',
    'The platform has not collected yet what earlier calls of the language model took. Ask its operator.',
    { reason: 'model_accounting_full' },
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
