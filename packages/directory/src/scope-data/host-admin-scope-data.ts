/**
 * Reads of what a scope holds, by the ladder (spec 4.3.1), with the row of the access log that is due for each. A copy of
 * the whole scope is a stream: see `host-admin-export.ts`.
 */
import type { ScopeExport } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { AdminCall } from '../actors.ts';
import type { EffectDeps } from '../lib/effects.ts';
import { found, type Performer, type Performers, performersOf } from '../lib/host-admin-performers.ts';
import { logTargetOf } from '../scopes/target.ts';
import type { AccessInput, DirectoryMethods } from '../unit.ts';
import { askScope } from '../verticals/ask-scope.ts';
import { exportScope } from './host-admin-export.ts';
import { readHealth } from './host-admin-health.ts';
import { TRANSPORTS, type Transport } from './transports.ts';

export interface ScopeReads {
  /**
   * Writes the access-log row of a read whose bytes a vertical supplied (spec 4.3.1). Both branches of the read
   * ladder write it through this, so that the row is the same on either.
   */
  recordDelegatedRead(read: AccessInput): Promise<void>;
  /**
   * Opens a copy of a scope, after the access-log row that says so was written: every export goes through here, and a
   * vertical supplies only the bytes (spec 4.3.2). `call` is one of `scopes.export`.
   */
  exportScope(call: AdminCall): Promise<ScopeExport>;
}

/** What was read, with what the access log is to say about it. */
type Shown = Omit<AccessInput, 'call'> & { readonly value: unknown };

/**
 * The reads reject with a `PlatformError`: `unsupported` (501) with a diagnosis when nothing answers for the vertical, what
 * the vertical refused with, and `runtime_fault` (502) for an answer outside the contract.
 */
export function makeScopeReads(
  deps: EffectDeps & { readonly directory: Pick<UnitStub<DirectoryMethods>, 'recordAccess'> },
): { readonly reads: ScopeReads; readonly performers: Performers } {
  const reads: ScopeReads = {
    recordDelegatedRead: async (read) => void (await deps.directory.recordAccess(read)),
    exportScope: (call) => exportScope(deps, call, reads.recordDelegatedRead),
  };

  const reading =
    (read: (call: AdminCall) => Promise<Shown>): Performer =>
    async (call, { audit }) => {
      const { value, ...shown } = await read(call);
      // Nobody is shown what could not be logged.
      if (audit === 'access') await reads.recordDelegatedRead({ call, ...shown });
      return found(value);
    };

  return {
    reads,
    performers: {
      ...performersOf(TRANSPORTS, (transport) => reading((call) => climb(deps, transport, call))),
      'health.get': reading((call) => checkHealth(deps, call)),
      'scopes.export': async (call) => {
        const { body, ...head } = await reads.exportScope(call);
        return { ...found(head), body };
      },
    },
  };
}

async function climb(deps: EffectDeps, transport: Transport, call: AdminCall): Promise<Shown> {
  const { scope } = await deps.target(call);
  const body = transport.body(call);
  const value = await askScope(deps, scope, {
    path: transport.path(call),
    answer: transport.answer,
    query: transport.query(call),
    ...(body === undefined ? {} : { body }),
    local: (host, ref) => transport.local(host, ref, call),
  });
  return { value, target: logTargetOf(scope, transport.subject(call)), items: transport.items(value) };
}

async function checkHealth(deps: EffectDeps, call: AdminCall): Promise<Shown> {
  const { scope } = await deps.target(call);
  const health = await readHealth(deps, scope);
  return { value: health, target: logTargetOf(scope), items: health.checks.length };
}
