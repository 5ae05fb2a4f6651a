/**
 * The effect of an erasure. The vault is the platform's, so that a host in this process is asked first, also where a worker
 * is bound. A vertical that runs elsewhere has a vault of its own.
 */
import { PlatformError, type ScopeErasure, shredReceipt, type VerticalScopeHost } from '@freehold/contracts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { Effect, EffectDeps } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import { scopeRefOf } from '../scopes/target.ts';
import { askVertical, unusable } from '../verticals/client.ts';
import { requireBound, requireKnownVertical } from '../verticals/reach.ts';
import { planShred, type subjectsShred } from './operations.ts';

/** All events about one person are rewritten. The lease of the intent is longer. */
const SHRED_TIMEOUT_MS = 110_000;
/** Codes that prove that no key was destroyed. Any other failure may have come after that. */
const REFUSALS: ReadonlySet<string> = new Set(['validation_failed', 'not_found', 'unsupported', 'forbidden']);

export const shredEffect: Effect<ScopeRecord> = {
  check: async ({ gateway, target }, call) => {
    const { vertical } = (await target(call)).scope;
    requireKnownVertical(gateway, vertical);
    if (!erases(gateway.local(vertical))) requireBound(gateway, vertical, 'erases no person');
  },
  run: async (deps, call, scope) => {
    const { subject } = (call as unknown as CallOf<typeof subjectsShred>).params;
    try {
      return { facts: await shred(deps, scope, subject) };
    } catch (error) {
      if (error instanceof PlatformError && REFUSALS.has(error.code)) throw error;
      throw unusable('The erasure did not come to its end.', error);
    }
  },
  plan: planShred,
};

async function shred({ gateway, deadline }: EffectDeps, scope: ScopeRecord, subject: string) {
  const ref = scopeRefOf(scope);
  // A receipt for another subject proves nothing about this one.
  const answer = shredReceipt.refine((receipt) => receipt.subject === subject);
  const local = gateway.local(scope.vertical);
  if (erases(local)) return answer.parse(await local.shredSubjectLocal({ ...ref, subject }));
  return askVertical(
    requireBound(gateway, scope.vertical, 'erases no person'),
    { path: 'shred-subject', scope: ref, body: { subject }, answer, timeoutMs: SHRED_TIMEOUT_MS },
    deadline,
  );
}

function erases(host: VerticalScopeHost | null): host is VerticalScopeHost & ScopeErasure {
  return host !== null && 'shredSubjectLocal' in host;
}
