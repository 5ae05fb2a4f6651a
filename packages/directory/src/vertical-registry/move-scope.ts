/** Moves a scope to a deployed version: by a wave, or when the scope is bound to it. */
import { fromFailure } from '@freehold/contracts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { VerticalRuntime } from './deploy.ts';

/** @throws PlatformError the failure that kept the scope at the version before. */
export async function moveScope(
  runtime: Pick<VerticalRuntime, 'move'>,
  {
    scope,
    script,
  }: { readonly scope: Pick<ScopeRecord, 'id' | 'tenant' | 'vertical'>; readonly script: string },
): Promise<void> {
  const { id, tenant, vertical } = scope;
  const { failure } = await runtime.move({ vertical, tenant, scope: id, script });
  if (failure !== null) throw fromFailure(failure);
}
