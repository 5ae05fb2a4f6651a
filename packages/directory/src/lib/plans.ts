/**
 * The plan of a change: what it would touch, and how much, answered without touching it (design: control-plane, "Long
 * work"). A plan refuses what the change would refuse, and runs where the engine lets nobody write.
 */
import type { UnitContext } from '@freehold/store';
import type { z } from 'zod';
import type { AdminCall } from '../actors.ts';
import type { AdminOperation } from '../declarations/admin-operation.ts';
import type { CallOf } from './handlers.ts';

/** A plan with its types erased, as the unit keeps it by name. */
export type PlanHandler = (context: UnitContext, call: AdminCall) => unknown;

/** Ties a plan to its declaration. */
export function planned<Op extends AdminOperation & { readonly plan: z.ZodObject }>(
  _operation: Op,
  handler: (context: UnitContext, call: CallOf<Op>) => z.input<Op['plan']>,
): PlanHandler {
  return (context, call) => handler(context, call as unknown as CallOf<Op>);
}
