/** The messages between the test and the process that it kills: one JSON value a line, in both directions. */
import type { AdminOperationName } from '../../../packages/directory/src/admin-operations.ts';
import type { ActArgs, ActName } from './acts.ts';

/** A mutation by its name: an operation, or an act without one. */
export type DeedName = AdminOperationName | ActName;

/** A condition that holds exactly when a call had its effect: a row or a file that exists. */
export type Condition = (
  | {
      /** `directory/main`, `scope-fieldwork/scp_…`: a missing database has no rows. */
      readonly unit: string;
      readonly sql: string;
      readonly params: readonly (string | number)[];
    }
  | {
      /** Below the directory of the whole place: `data/scope-fieldwork/scp_….sqlite`. */
      readonly file: string;
    }
) & { readonly not?: true };

/** Rows of one action in the admin log, with a condition that distinguishes them. */
export interface Logged {
  /** A condition in SQL: `other = ?`. */
  readonly where: string;
  readonly params: readonly (string | number)[];
}

/** A call as it can be repeated: by the same caller, with the same key. */
export interface RepeatableCall {
  readonly operation: DeedName;
  /** The arguments of an act, which has only the key of the fields below. */
  readonly args?: ActArgs;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: Readonly<Record<string, unknown>>;
  /** The tenant whose builder makes the call. Default: staff. */
  readonly builder?: string;
  /** The bytes of an upload, as text. */
  readonly upload?: string;
  readonly key: string;
}

/** A message of the process. */
export type Line =
  /** Everything is open, and all long work of earlier processes has ended. */
  | { readonly t: 'ready' }
  | {
      readonly t: 'begin';
      readonly request: string;
      readonly call: RepeatableCall;
      /** The conditions of its effect; null for a call that only prepares another one. */
      readonly effect: readonly Condition[] | null;
      /** The rows of the log that belong to it. Default: those of its request. */
      readonly logged?: Logged;
    }
  | {
      readonly t: 'acknowledged';
      readonly request: string;
      readonly replayed: boolean;
      readonly head: { readonly sequence: number; readonly hash: string } | null;
    }
  | { readonly t: 'refused'; readonly request: string; readonly reason: string; readonly message: string }
  /** Long work has ended. */
  | { readonly t: 'ended'; readonly request: string; readonly state: string }
  /** The order is done, after so many points at which it could have been killed. */
  | { readonly t: 'over'; readonly points: number }
  | { readonly t: 'verdict'; readonly status: string; readonly firstBad: unknown }
  | { readonly t: 'trouble'; readonly message: string };

/** An order to the process. */
export type Order =
  | {
      readonly do: 'load';
      readonly round: string;
      readonly deeds: readonly DeedName[];
      /** Dies at this point, counted from the moment when all mutations have begun. */
      readonly killAt: number;
    }
  | {
      readonly do: 'repeat';
      readonly calls: readonly { readonly of: string; readonly call: RepeatableCall }[];
    }
  | { readonly do: 'verify' }
  | { readonly do: 'stop' };

/** The parts of a place, below its directory. */
export const PLACE = {
  data: 'data',
  backups: 'backups',
  anchor: 'anchor.json',
  dns: 'dns',
  runtime: 'runtime',
  clock: 'clock',
};
