/**
 * The ladder (spec 4.3.1): a vertical's worker is asked when one is bound, else its co-located host, else nobody.
 * Whichever rung answers, the answer is judged by the same schema.
 */
import type { ScopeRef, VerticalScopeHost } from '@freehold/contracts';
import type { z } from 'zod';
import type { ScopeRecord } from '../declarations/records.ts';
import type { EffectDeps } from '../lib/effects.ts';
import { scopeRefOf } from '../scopes/target.ts';
import { askVertical, unusable, type VerticalQuestion } from './client.ts';
import { noVertical } from './reach.ts';

/** One question, as a worker and as a co-located host are asked it. */
export interface ScopeQuestion<S extends z.ZodType> extends Omit<VerticalQuestion<S>, 'scope' | 'origin'> {
  local(host: VerticalScopeHost, scope: ScopeRef): Promise<unknown>;
}

/**
 * Asks, and answers what was said.
 * @throws PlatformError `unsupported` (501) with a diagnosis when nothing answers for the vertical, what the vertical
 * refused with, and `runtime_fault` (502) when there is nothing to pass on.
 */
export async function askScope<S extends z.ZodType>(
  { gateway, deadline }: Pick<EffectDeps, 'gateway' | 'deadline'>,
  scope: ScopeRecord,
  { local, ...question }: ScopeQuestion<S>,
): Promise<z.output<S>> {
  const ref = scopeRefOf(scope);
  const bound = gateway.bound(scope.vertical);
  if (bound) return askVertical(bound, { ...question, scope: ref }, deadline);
  const host = gateway.local(scope.vertical);
  if (!host) throw noVertical(scope.vertical);
  const parsed = question.answer.safeParse(await local(host, ref));
  if (parsed.success) return parsed.data;
  throw unusable('The application answered something that is not part of its contract.');
}
