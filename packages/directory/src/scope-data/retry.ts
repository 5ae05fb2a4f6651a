/** A second chance for a delivery that gave up (design: control-plane-routes, "Scope data window"). */
import {
  PlatformError,
  retryDeadLetterResponse,
  type ScopeRetries,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { ScopeRecord } from '../declarations/records.ts';
import { deadLettersRetry } from '../declarations/scope-data.ts';
import type { Effect } from '../lib/effects.ts';
import { type CallOf, delegated } from '../lib/handlers.ts';
import { requireActiveScope, scopeOfRow } from '../scopes/store.ts';
import { logTargetOf } from '../scopes/target.ts';
import { askScope } from '../verticals/ask-scope.ts';
import { requireKnownVertical } from '../verticals/reach.ts';

export const retryDeadLetter = delegated<typeof deadLettersRetry, ScopeRecord, null>(deadLettersRetry, {
  begin: ({ db }, { params, body }) => {
    const scope = scopeOfRow(requireActiveScope(db, params));
    const target = logTargetOf(scope, params.event);
    return {
      intent: { target, before: null, after: { subscriber: body.subscriber } },
      prepared: scope,
    };
  },
  settle: ({ db }, { params, body }) => {
    const scope = scopeOfRow(requireActiveScope(db, params));
    const { subscriber } = body;
    return {
      status: 200,
      value: { event: params.event, subscriber },
      audit: { target: logTargetOf(scope, params.event), before: null, after: { subscriber } },
    };
  },
  // Another dead letter of the scope is another matter.
  supersedes: () => false,
});

export const retryDeadLetterEffect: Effect<ScopeRecord> = {
  check: async ({ gateway, target }, call) =>
    requireKnownVertical(gateway, (await target(call)).scope.vertical),
  run: async (deps, call, scope) => {
    const { params, body } = call as unknown as CallOf<typeof deadLettersRetry>;
    const letter = { event: params.event, subscriber: body.subscriber };
    await askScope(deps, scope, {
      path: 'dead-letters/retry',
      body: letter,
      answer: retryDeadLetterResponse,
      local: async (host, ref) => {
        await requireRetries(host, scope.vertical).retryDeadLetterLocal({ ...ref, ...letter });
        return letter;
      },
    });
    return { facts: null };
  },
};

function requireRetries(host: VerticalScopeHost & Partial<ScopeRetries>, vertical: string): ScopeRetries {
  if (host.retryDeadLetterLocal) return host as VerticalScopeHost & ScopeRetries;
  throw new PlatformError('unsupported', `The scopes of the vertical ${vertical} take no dead letter back.`, {
    reason: 'no_retries',
  });
}
