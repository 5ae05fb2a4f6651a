/** Moves the scopes of a vertical to the version that serves, and tells what became of them. */
import { type Caller, ControlPlaneError } from '@freehold/control-plane/client';
import { adminOperations, type OperationRecord } from '@freehold/directory/declarations';
import { followWork } from '../admin/follow-work.ts';
import type { World } from '../lib/world.ts';

export interface Wave {
  /** The number of scopes that run the version now, and did not before. */
  readonly moved: number;
  /** True where a wave that was running already takes the version up. */
  readonly wasRunning: boolean;
}

interface Moving {
  readonly call: Caller;
  readonly world: World;
}

/**
 * Begins a wave, and follows it to its end.
 * @throws ControlPlaneError reason `wave_failed`, with the scopes that stayed at the version before.
 */
export async function moveScopes({ call, world }: Moving, vertical: string): Promise<Wave> {
  try {
    const { value } = await call(adminOperations['verticals.move'], {
      params: { slug: vertical },
      body: {},
    });
    const { result } = await followWork({ call, world, name: 'moving scopes' }, value as OperationRecord);
    return { moved: (result as { readonly applied: number }).applied, wasRunning: false };
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) throw error;
    if (error.reason === 'operation_running') return { moved: 0, wasRunning: true };
    if (error.reason !== 'wave_failed') throw error;
    throw new ControlPlaneError(
      `${error.message} Scopes that were not moved go on with the version before: freehold fleet-migrations get --vertical ${vertical} names them. Deploy a repaired version, or go back with freehold rollback.`,
      error,
    );
  }
}

export function waveText({ moved, wasRunning }: Wave): string {
  if (wasRunning) return 'A wave was moving scopes already, and takes this version up.';
  return moved === 1 ? '1 scope was moved to it.' : `${moved} scopes were moved to it.`;
}
