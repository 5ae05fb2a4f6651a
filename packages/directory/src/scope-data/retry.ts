/** Puts a delivery that gave up back in line (design: control-plane-routes, "Scope data window"). */
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
import { defineFeature } from '../lib/feature.ts';
import { type CallOf, delegated } from '../lib/handlers.ts';
import { requireActiveScope, requireScope, scopeOfRow } from '../scopes/store.ts';
import { logTargetOf } from '../scopes/target.ts';
import { askScope } from '../verticals/client.ts';
import { requireKnownVertical } from '../verticals/reach.ts';

interface RetryTarget {
  readonly scope: ScopeRecord;
  /** Whether an earlier attempt of this very call was left without an outcome. */
  readonly resumes: boolean;
}

export const deadLettersRetry = adminOperation({
  name: 'dead-letters.retry',
  summary: 'Put a delivery that gave up back in line',
  description:
    'The event is delivered to the subscriber as if for the first time, in its order. Not found when it is no dead letter (any more); a conflict (reason unknown_subscriber) when no subscriber of the scope has this name.',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/dead-letters/:event/retry',
  input: { params: eventParams, body: retryDeadLetterRequest.pick({ subscriber: true }) },
  output: retryDeadLetterResponse.meta({ id: 'DeadLetterRetried' }),
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

const letterOf = ({ params, body }: Pick<CallOf<typeof deadLettersRetry>, 'params' | 'body'>) => ({
  event: params.event,
  subscriber: body.subscriber,
});

const retryDeadLetter = /* @__PURE__ */ delegated<typeof deadLettersRetry, RetryTarget, null>(
  deadLettersRetry,
  {
    begin: ({ db, resumes }, call) => {
      const scope = scopeOfRow(requireActiveScope(db, call.params));
      const after = letterOf(call);
      return {
        intent: { target: logTargetOf(scope, after.event), before: null, after },
        prepared: { scope, resumes: resumes !== null },
      };
    },
    settle: ({ db }, call) => {
      // The scope may have been suspended meanwhile; the retry is done all the same.
      const scope = scopeOfRow(requireScope(db, call.params));
      const letter = letterOf(call);
      return {
        value: letter,
        audit: { target: logTargetOf(scope, letter.event), before: null, after: letter },
      };
    },
    supersedes: (call, earlier) => {
      const { event, subscriber } = letterOf(call);
      return earlier?.event === event && earlier.subscriber === subscriber;
    },
  },
);

export const retryDeadLetterEffect: Effect<RetryTarget> = {
  check: async ({ gateway, target }, call) =>
    requireKnownVertical(gateway, (await target(call)).scope.vertical),
  run: async (deps, call, { scope, resumes }) => {
    const letter = letterOf(call as unknown as CallOf<typeof deadLettersRetry>);
    await askScope(deps, scope, {
      path: 'dead-letters/retry',
      body: letter,
      answer: retryDeadLetterResponse,
      local: async (host, ref) => {
        await requireRetries(host, scope.vertical).retryDeadLetterLocal({ ...ref, ...letter });
        return letter;
      },
    }).catch((error: unknown) => {
      // The earlier attempt put it back in line, and its answer was lost.
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

export const scopeDataFeature = /* @__PURE__ */ defineFeature({ operations: [retryDeadLetter] });
