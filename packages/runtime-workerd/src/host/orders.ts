/** The orders of the platform, and their answers. */
import type { Failure } from '@freehold/contracts';

/** Lets a scope run another bundle from now on. */
export interface MoveOrder {
  readonly tenant: string;
  readonly digest: string;
}

/** Where a scope is after an order: at the new bundle, or still at the one before, with the failure that kept it there. */
export interface Moved {
  readonly from: string | null;
  readonly running: string | null;
  readonly failure: Failure | null;
}
