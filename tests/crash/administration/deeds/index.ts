/** Every kind of mutation that is made and killed, by the name of the operation or of the act. */
import type { ActName } from '../acts.ts';
import type { Deed } from '../bench.ts';
import type { DeedName } from '../protocol.ts';
import { actDeeds, memberDeeds } from './acts.ts';
import { connectionDeeds } from './connections.ts';
import { registryDeeds } from './registry.ts';
import { scopeDeeds } from './scopes.ts';
import { tenantDeeds } from './tenants.ts';

export const deeds: Readonly<Partial<Record<DeedName, Deed>>> = {
  ...tenantDeeds,
  ...scopeDeeds,
  ...registryDeeds,
  ...connectionDeeds,
  ...memberDeeds,
  ...actDeeds,
};

/** It replaces the work of all others, so it has a place of its own. */
export const alone: readonly DeedName[] = ['directory.restore'];

/** They go over everything in the place and need a later time: each has a place with a clock of its own. */
export const sweeps: readonly ActName[] = ['backups.expire', 'connections.upkeep (sweep)'];

/** Actions of the source that no act here makes, each with the reason. */
export const notActs: Readonly<Record<string, string>> = {
  'reap/tenants.ts: tenants.reap':
    'the operation itself, which settles the earlier attempts that it makes immaterial',
};
