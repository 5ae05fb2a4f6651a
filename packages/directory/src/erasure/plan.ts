/**
 * What erasing a person would touch. How much a scope says about them is asked by a read that every vertical answers, and
 * it is written down like any other read: a plan is no way around the access log.
 */
import { queryResponse } from '@freehold/contracts';
import type { AdminCall } from '../actors.ts';
import { countBackups } from '../backups/store.ts';
import type { EffectDeps, EffectPlan } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import { planned } from '../lib/handlers.ts';
import { countSnapshots } from '../scopes/snapshot-store.ts';
import { requireScope } from '../scopes/store.ts';
import { logTargetOf } from '../scopes/target.ts';
import { askScope } from '../verticals/client.ts';
import { isRefusal } from '../verticals/outcome.ts';
import { requireHoldsData, subjectsShred } from './operations.ts';
import { loadErasure, subjectHash } from './store.ts';

/** Of the kernel's own tables: the same that an erasure rewrites. */
const MENTIONS = 'SELECT count(*) FROM _spine_events WHERE subject = ? AND payload IS NOT NULL';

/** What the directory knows; the rest is asked by {@link planShred}. */
export const planErasure = /* @__PURE__ */ planned<typeof subjectsShred>(
  subjectsShred,
  ({ db }, { params }) => {
    const { id, status } = requireScope(db, params);
    const receipt = loadErasure(db, params) ?? null;
    if (!receipt) requireHoldsData(status);
    return {
      dryRun: true,
      scope: id,
      status,
      receipt,
      key: receipt ? 'destroyed' : 'unknown',
      events: receipt ? 0 : null,
      backups: countBackups(db, id),
      snapshots: countSnapshots(db, id),
    };
  },
);

/** Asks the vertical how many events are about the person. One that cannot be asked so leaves that open. */
export async function planShred(deps: EffectDeps, call: AdminCall, known: unknown): Promise<EffectPlan> {
  const plan = known as ReturnType<typeof planErasure> & { readonly receipt: unknown };
  if (plan.receipt) return { value: plan };
  const { subject } = (call as unknown as CallOf<typeof subjectsShred>).params;
  const { scope } = await deps.target(call);
  const body = { sql: MENTIONS, params: [subject] };
  const counted = await askScope(deps, scope, {
    path: 'query',
    body,
    answer: queryResponse,
    local: (host, ref) => host.introspectScopeQuery({ ...ref, ...body }),
  }).catch((error: unknown) => {
    if (isRefusal(error)) return null;
    throw error;
  });
  const cell = counted?.rows[0]?.[0];
  if (typeof cell !== 'number') return { value: plan };
  const target = logTargetOf(scope, subjectHash(scope.id, subject));
  return { value: { ...plan, events: cell }, read: { target, items: cell } };
}
