/** A second chance for a delivery that gave up (design: control-plane-routes, "Scope data window"). */

import {
  PlatformError,
  retryDeadLetterRequest,
  retryDeadLetterResponse,
  type ScopeRetries,
  type VerticalScopeHost,
} from '@freehold/contracts';
import { adminOperation } from '../declarations/admin-operation.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { eventParams, tag } from '../declarations/scope-data.ts';
import type { Effect } from '../lib/effects.ts';
import { type CallOf, delegated } from '../lib/handlers.ts';
import { requireActiveScope, requireScope, scopeOfRow } from '../scopes/store.ts';
import { logTargetOf } from '../scopes/target.ts';
import { askScope } from '../verticals/ask-scope.ts';
import { requireKnownVertical } from '../verticals/reach.ts';

/** What the effect needs to know. */
export interface RetryTarget {
  readonly scope: ScopeRecord;
  /** Whether an earlier attempt of this very call was left without an outcome. */
  readonly resumes: boolean;
}

export const deadLettersRetry = adminOperation({
  name: 'dead-letters.retry',
  summary: 'Put a delivery that gave up back in line',
  description:
    'The event is delivered to the subscriber as if for the first time, in its order. Not found when it is no dead letter (any more); a conflict (reason unknown_subscriber) when nobody listens under this name.',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/dead-letters/:event/retry',
  input: { params: eventParams, body: retryDeadLetterRequest.pick({ subscriber: true }) },
  output: retryDeadLetterResponse.meta({ id: 'DeadLetterRetried' }),
  success: 200,
  builder: 'none',
  audit: 'audit',
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

export const retryDeadLetter = /* @__PURE__ */ delegated<typeof deadLettersRetry, RetryTarget, null>(
  deadLettersRetry,
  {
    begin: ({ db, resumes }, { params, body }) => {
      const scope = scopeOfRow(requireActiveScope(db, params));
      const { event } = params;
      return {
        intent: {
          target: logTargetOf(scope, event),
          before: null,
          after: { event, subscriber: body.subscriber },
        },
        prepared: { scope, resumes: resumes !== null },
      };
    },
    settle: ({ db }, { params, body }) => {
      // Suspended meanwhile or not: it is done, and has to be said.
      const scope = scopeOfRow(requireScope(db, params));
      const letter = { event: params.event, subscriber: body.subscriber };
      return {
        status: 200,
        value: letter,
        audit: { target: logTargetOf(scope, letter.event), before: null, after: letter },
      };
    },
    // Another dead letter of the scope is another matter.
    supersedes: ({ params, body }, earlier) =>
      earlier?.event === params.event && earlier.subscriber === body.subscriber,
  },
);

export const retryDeadLetterEffect: Effect<RetryTarget> = {
  check: async ({ gateway, target }, call) =>
    requireKnownVertical(gateway, (await target(call)).scope.vertical),
  run: async (deps, call, { scope, resumes }) => {
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
    }).catch((error: unknown) => {
      // The attempt before this one has taken it back, and its answer was lost.
      if (!(resumes && error instanceof PlatformError && error.reason === 'unknown_dead_letter')) throw error;
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
