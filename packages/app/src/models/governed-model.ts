/**
 * One call of a language model between two invocations: it is admitted by one, and what it took is written down by the
 * other, whatever became of it (spec 4.8: resolve, guard, run, line, record). No transaction waits for a provider.
 */

import {
  createModelHost,
  type ModelHost,
  type ModelRequest,
  type ModelUsageLine,
} from '@freehold/vertical-host/model';
import type { AppContext, Services } from '../declaration/env.ts';
import type { GovernedModel, GovernedRequest } from '../declaration/model.ts';
import { MODEL_SERVICE } from '../declaration/supplied.ts';
import { modelOperations } from '../model-accounting/operations.ts';
import { requireNode } from '../request/caller.ts';
import type { ModelSettings } from './model-settings.ts';
import { takingWholeAnswers } from './whole-answers.ts';

/** @param operation what the call is for, as the line of its usage names it. */
export function governedModel(
  services: Services,
  c: AppContext,
  { spec, access, tokensMonthly, rateCard }: ModelSettings,
  operation: string,
): GovernedModel {
  const { tenant, scope, vertical, version } = requireNode(c);
  const books = services.host.operations(scope, `service:${MODEL_SERVICE}`);
  const attribution = { tenant, scope, vertical, version, operation };
  let tokens = 0;
  /** The call that was admitted and of which nothing is written down yet. */
  let open: string | null = null;

  const account = async (line: ModelUsageLine | null): Promise<void> => {
    if (open === null) return;
    const call = open;
    // A line that could not be written down is not replaced by "nothing": the call counts with all that it could take.
    open = null;
    await books.invoke({ operation: 'model/account', input: { call, line } });
  };
  const host: ModelHost = createModelHost({
    env: c.env,
    rateCard,
    fetch: takingWholeAnswers(services.deps.modelFetch ?? globalThis.fetch),
    guard: async () => {
      const { output } = await books.invoke({
        operation: 'model/admit',
        input: { access, tokensMonthly, tokens },
      });
      open = modelOperations['model/admit'].output.parse(output).call;
    },
    record: account,
  });
  const requestOf = (request: GovernedRequest): ModelRequest => {
    tokens = tokensAtMost(request);
    return { spec, attribution, ...request };
  };

  return {
    run: async (request) => {
      try {
        return await host.run(requestOf(request));
      } finally {
        await account(null);
      }
    },
    stream: async (request) => {
      try {
        const stream = await host.stream(requestOf(request));
        // A reader who leaves before any tokens were spent leaves no line.
        const over = () => account(null);
        stream.end.then(over, over).catch((error: unknown) =>
          services.deps.onIncident(error, {
            kind: services.manifest.slug,
            key: scope,
            method: 'model/account',
          }),
        );
        return stream;
      } catch (refused) {
        await account(null);
        throw refused;
      }
    },
  };
}

/** Three characters a token is fewer than any common language takes, so that it is more tokens than there will be. */
function tokensAtMost({ system = '', prompt, maxOutputTokens }: GovernedRequest): number {
  return Math.ceil((system.length + prompt.length) / 3) + maxOutputTokens;
}
