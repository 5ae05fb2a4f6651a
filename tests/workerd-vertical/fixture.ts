/** Two businesses on fieldwork, side by side, so that there is always other data to leak. */
import type { ScopeId, TenantId } from '@freehold/contracts';
import type { NodeClaims } from '../../packages/app/src/worker/node-assertion.ts';

export interface Fixture {
  readonly hostname: string;
  readonly name: string;
  readonly tenantId: TenantId;
  readonly scopeId: ScopeId;
}

export const PIPES: Fixture = {
  hostname: 'pipes.localhost',
  name: 'Pipes & Sons',
  tenantId: 'tnt_01j00000000000000000000001' as TenantId,
  scopeId: 'scp_01j00000000000000000000001' as ScopeId,
};
export const SPARKS: Fixture = {
  hostname: 'sparks.localhost',
  name: 'Sparks',
  tenantId: 'tnt_01j00000000000000000000002' as TenantId,
  scopeId: 'scp_01j00000000000000000000002' as ScopeId,
};
export const FIXTURES: readonly Fixture[] = [PIPES, SPARKS];

/** Returns the router's knowledge of a request under a `Host`, or null for an unknown name. */
export function nodeAt(host: string, clientAddress: string | null): NodeClaims | null {
  const fixture = FIXTURES.find(({ hostname }) => host.split(':')[0] === hostname);
  return fixture
    ? {
        tenant: fixture.tenantId,
        scope: fixture.scopeId,
        vertical: 'fieldwork',
        version: '0.1.0',
        surface: 'app',
        origin: `http://${host}`,
        clientAddress,
      }
    : null;
}
