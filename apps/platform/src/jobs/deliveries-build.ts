/** What the work of a vertical's scopes depends on: another build may have other schedules, listeners or migrations. */
import { createHash } from 'node:crypto';
import type { ScopeUnit } from '@freehold/kernel';

/**
 * The version of what the kernel does in every scope by itself: which pieces of work there are and when they are due. No
 * declaration shows that. To be raised with every change to it, or scopes at rest are not looked into for the new work.
 */
const KERNEL_WORK = '1';

/**
 * A digest of what a vertical declares, the platform's own part of its scopes with it.
 * @param kernelWork default: of this kernel.
 */
export function buildOf(
  { vertical, migrations }: Pick<ScopeUnit, 'vertical' | 'migrations'>,
  kernelWork: string = KERNEL_WORK,
): string {
  const { manifest, schedules, subscriptions, executors, retention, chainMax } = vertical;
  // What they run is code, which is left out here: it decides what a piece of work does, and not whether there is any.
  const declared = {
    kernelWork,
    manifest,
    schedules,
    subscriptions,
    executors,
    retention,
    chainMax,
    migrations,
  };
  return createHash('sha256').update(JSON.stringify(declared)).digest('hex').slice(0, 32);
}
