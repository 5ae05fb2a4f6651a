/** The library of the kernel's contract suite as a vertical of its own: its management contract, and its client. */
import { Hono } from 'hono';
import type { ScopeHost } from '../../kernel/src/index.ts';
import { recordIncident } from '../../testkit/src/scope-contract/index.ts';
import { makeVerticalClient, type VerticalClientOptions } from '../src/client/index.ts';
import { mountPlatformSurface } from '../src/index.ts';

const PLATFORM_SECRET = 'the platform secret of the contract suite';

/** The vertical's application: its management contract and nothing else. `present` is asked for each request. */
export function libraryVertical(present: () => ScopeHost): Hono {
  const app = new Hono();
  mountPlatformSurface(app, {
    platformSecret: () => PLATFORM_SECRET,
    hostFor: present,
    roles: {},
    ownerRoleKey: 'librarian',
    resolveOwner: async () => ({ ownerSeat: null }),
    onIncident: (error, { path }) => recordIncident(error, { kind: 'vertical', key: '', method: path }),
  });
  return app;
}

/**
 * A host whose every member of the management contract goes over the wire. What is no part of it (the scope's own
 * methods, snapshots, erasure) is still asked directly: the vertical itself has it at hand.
 */
export function remoteHost(
  direct: ScopeHost,
  reach: Pick<VerticalClientOptions, 'baseUrl' | 'fetch'>,
): ScopeHost {
  return { ...direct, ...makeVerticalClient({ ...reach, platformSecret: PLATFORM_SECRET }) };
}
