/**
 * The steps of an operation as data: the workload makes random lists, the vertical performs them against the kernel,
 * and the model against its maps.
 */
import type { EntityRef } from '@freehold/contracts';

export type Step =
  /** Writes a note into a table of the vertical. */
  | { readonly do: 'put'; readonly id: string; readonly value: string }
  /** Reads the value of a note. */
  | { readonly do: 'read'; readonly id: string }
  /** Makes an account; an existing one is an SQL error. */
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
  /** With a person, the payload is about the person, and sealed. */
  | {
      readonly do: 'emit';
      readonly type: string;
      readonly entity: EntityRef;
      readonly payload: EventPayload;
      readonly person: string | null;
    }
  /** Runs another operation; with `caught`, its failure does not fail this one. */
  | {
      readonly do: 'invoke';
      readonly operation: string;
      readonly input: LedgerInput;
      readonly caught: boolean;
    }
  /** Performs steps in a savepoint and rolls it back. */
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
  /** Stores a value about a person: sealed in one table, in clear in another. */
  | { readonly do: 'keep'; readonly person: string; readonly place: string; readonly value: string }
  | { readonly do: 'unseal'; readonly place: string }
  | { readonly do: 'setting'; readonly key: string }
  /** Fails until that moment: the delivery is refused for a while, or forever. */
  | { readonly do: 'until'; readonly atMs: number }
  | { readonly do: 'fail'; readonly how: FailureKind };

/** `conflict` is a failure for the caller. The others are bugs: an error, and a thrown value that is no error. */
export type FailureKind = 'conflict' | 'error' | 'null';

/** `then`: the steps of the event's subscriber; `text`: a value to recognise. */
export interface EventPayload {
  readonly text: string;
  readonly then?: readonly Step[];
}

export interface LedgerInput {
  /** Makes one call different from every other one. */
  readonly ref: string;
  /** The id of the operation's entity, if it has one. */
  readonly id: string;
  readonly steps: readonly Step[];
  /** The end of `run` after its steps: the right answer, a promise, or a wrong shape. */
  readonly ends: 'well' | 'promise' | 'odd';
}

/** The answers of `read`, `balance`, `can`, `reach`, `unseal` and `setting`, in order. */
export type Said = string | number | boolean | null | readonly string[];

export interface LedgerOutput {
  readonly said: readonly Said[];
}

/**
 * Returns the persons whose sealed data the steps touch, including those of nested operations.
 * @param keptFor returns the person of a place.
 */
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
