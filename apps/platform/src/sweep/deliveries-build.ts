/** What the work of a vertical's scopes depends on: another build may have other schedules, listeners or migrations. */
import { createHash } from 'node:crypto';
import type { ScopeUnit } from '@freehold/kernel';

/** A digest of what a vertical declares, the platform's own part of its scopes with it. */
export function buildOf({ vertical, migrations }: Pick<ScopeUnit, 'vertical' | 'migrations'>): string {
  const { manifest, schedules, subscriptions, executors, retention, chainMax } = vertical;
  // What they run is code, which is left out here: it decides what a piece of work does, and not whether there is any.
  const declared = { manifest, schedules, subscriptions, executors, retention, chainMax, migrations };
  return createHash('sha256').update(JSON.stringify(declared)).digest('hex').slice(0, 32);
}
