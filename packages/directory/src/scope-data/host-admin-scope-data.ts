/**
 * Reads of what a scope holds, by the ladder (spec 4.3.1), with what the access log is to say about each. A copy of the
 * whole scope is a stream: see `host-admin-export.ts`.
 */
import type { AdminCall } from '../actors.ts';
import type { LogTarget } from '../declarations/records.ts';
import type { EffectDeps } from '../lib/effects.ts';
import { logTargetOf } from '../scopes/target.ts';
import { askScope } from '../verticals/ask-scope.ts';
import { readHealth } from './host-admin-health.ts';
import { RUNGS } from './rungs.ts';

/** What was read, with what the access log is to say about it. */
export interface ScopeRead {
  readonly value: unknown;
  readonly target: LogTarget;
  readonly items: number;
}

/** Whether an operation is answered by the ladder. */
export function isScopeRead(operation: string): boolean {
  return operation === 'health.get' || Object.hasOwn(RUNGS, operation);
}

/**
 * Climbs the ladder for one call.
 * @throws PlatformError `unsupported` (501) with a diagnosis when nothing answers for the vertical, what the vertical
 * refused with, and `runtime_fault` (502) for an answer outside the contract.
 */
export async function readScopeData(deps: EffectDeps, call: AdminCall): Promise<ScopeRead> {
  const { scope } = await deps.target(call);
  const rung = RUNGS[call.operation];
  if (!rung) {
    const health = await readHealth(deps, scope);
    return { value: health, target: logTargetOf(scope), items: health.checks.length };
  }
  const body = rung.body(call);
  const value = await askScope(deps, scope, {
    path: rung.path(call),
    answer: rung.answer,
    query: rung.query(call),
    ...(body === undefined ? {} : { body }),
    local: (host, ref) => rung.local(host, ref, call),
  });
  return { value, target: logTargetOf(scope, rung.subject(call)), items: rung.items(value) };
}
