/**
 * What an operation of the simulated vertical does, as data: the workload makes lists of steps at random, the vertical
 * performs them against the kernel, and the model performs them against its maps.
 */
import type { EntityRef } from '@freehold/contracts';

export type Step =
  /** Writes a note in a table of the vertical. */
  | { readonly do: 'put'; readonly id: string; readonly value: string }
  /** Says what a note has. */
  | { readonly do: 'read'; readonly id: string }
  /** Makes an account; one that exists is an SQL error. */
  | { readonly do: 'open'; readonly account: string }
  /** Moves money: two rows and two events. With `torn`, it throws between the first and the second. */
  | {
      readonly do: 'move';
      readonly from: string;
      readonly to: string;
      readonly amount: number;
      readonly torn: boolean;
    }
  | { readonly do: 'balance'; readonly account: string }
  /** With a person, the payload is about them, and sealed. */
  | {
      readonly do: 'emit';
      readonly type: string;
      readonly entity: EntityRef;
      readonly payload: EventPayload;
      readonly person: string | null;
    }
  /** Runs another operation; `caught`: a failure of it does not fail this one. */
  | {
      readonly do: 'invoke';
      readonly operation: string;
      readonly input: LedgerInput;
      readonly caught: boolean;
    }
  /** Steps in a savepoint that is thrown away. */
  | { readonly do: 'undone'; readonly steps: readonly Step[] }
  | {
      readonly do: 'check';
      readonly permission: string;
      readonly entity: EntityRef | null;
      readonly caught: boolean;
    }
  | { readonly do: 'can'; readonly permission: string; readonly entity: EntityRef | null }
  | { readonly do: 'reach'; readonly permission: string; readonly entityType: string }
  | {
      readonly do: 'grant';
      readonly subject: string;
      readonly permission: string;
      readonly entity: EntityRef | null;
      readonly expiresAtMs: number | null;
    }
  | {
      readonly do: 'revoke';
      readonly subject: string;
      readonly permission: string;
      readonly entity: EntityRef | null;
    }
  | { readonly do: 'place'; readonly entity: EntityRef; readonly parent: EntityRef | null }
  | { readonly do: 'ask'; readonly kind: string; readonly payload: string }
  /** Keeps something about a person: sealed in one table, in clear in another. */
  | { readonly do: 'keep'; readonly person: string; readonly place: string; readonly value: string }
  | { readonly do: 'unseal'; readonly place: string }
  | { readonly do: 'setting'; readonly key: string }
  /** Fails until that moment: a delivery that is refused for a while, or for good. */
  | { readonly do: 'until'; readonly atMs: number }
  | { readonly do: 'fail'; readonly how: FailureKind };

/** `conflict`: a failure that is meant for the caller. The others are bugs: an error, and something that is none. */
export type FailureKind = 'conflict' | 'error' | 'null';

/** `then`: what the subscriber of the event does; `text`: something to be recognised. */
export interface EventPayload {
  readonly text: string;
  readonly then?: readonly Step[];
}

export interface LedgerInput {
  /** Makes one call different from every other one. */
  readonly ref: string;
  /** The record that the operation is about, for those that are about one. */
  readonly id: string;
  readonly steps: readonly Step[];
  /** How `run` ends when its steps are done: with what it should answer, a promise, or another shape. */
  readonly ends: 'well' | 'promise' | 'odd';
}

/** What was said by `read`, `balance`, `can`, `reach`, `unseal` and `setting`, in order. */
export type Said = string | number | boolean | null | readonly string[];

export interface LedgerOutput {
  readonly said: readonly Said[];
}

/** The persons whose sealed data steps touch, those of what they invoke included. @param keptFor of whom a place is. */
export function personsOf(
  steps: readonly Step[],
  keptFor: (place: string) => string | undefined,
): readonly string[] {
  const persons = steps.flatMap((step): readonly string[] => {
    if (step.do === 'emit') return step.person === null ? [] : [step.person];
    if (step.do === 'keep') return [step.person];
    if (step.do === 'unseal') return [keptFor(step.place) ?? []].flat();
    if (step.do === 'invoke') return personsOf(step.input.steps, keptFor);
    return step.do === 'undone' ? personsOf(step.steps, keptFor) : [];
  });
  return [...new Set(persons)];
}
