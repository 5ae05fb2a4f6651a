/** A scope's own work in its object: one round for each alarm. */
import type { IncidentSink } from '@freehold/store';
import { runDeliveries, type ScopeMethods, type Vertical } from '../../kernel/src/index.ts';
import type { UnitWork } from '../src/index.ts';

export function scopeWork(
  vertical: Vertical,
  { now, onIncident }: { readonly now: () => number; readonly onIncident: IncidentSink },
): UnitWork<ScopeMethods> {
  return (scope, scopeId) => runDeliveries({ vertical, scope, scopeId, now, onIncident });
}
