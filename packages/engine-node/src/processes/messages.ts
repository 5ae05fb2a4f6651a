/** The messages between a process of a pool and its parent. Apart from both: a child loads neither the pool nor schemas. */
import type { FaultReason } from '../lib/fault.ts';

/** A request to a child and its answer; see `answer-requests.ts`. */
export interface Request {
  readonly task: string;
  readonly input: unknown;
}

/** The first message of a process: it answers from now on. */
export const READY = 'ready';

export type Reply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly fault: FaultReason; readonly message: string }
  | { readonly ok: false; readonly error: string; readonly code?: string; readonly errcode?: number };
