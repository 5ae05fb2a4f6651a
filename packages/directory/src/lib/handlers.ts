/**
 * The shapes that every family of operations fills in: a read, a change, and a change whose effect lies in a
 * vertical. Handlers are synchronous and run inside the directory's transaction.
 */
import type { UnitContext } from '@freehold/store';
import type { z } from 'zod';
import type { AdminCall } from '../actors.ts';
import type { AdminOperation } from '../declarations/admin-operation.ts';
import type { LogTarget } from '../declarations/records.ts';

type Fields<S> = S extends z.ZodObject ? z.output<S> : Readonly<Record<string, never>>;

/** A call of one operation, with the fields that its declaration gives it. */
export type CallOf<Op extends AdminOperation> = Omit<AdminCall, 'params' | 'query' | 'body'> & {
  readonly params: Fields<Op['input']['params']>;
  readonly query: Fields<Op['input']['query']>;
  readonly body: Fields<Op['input']['body']>;
};

/** What only the wiring knows, handed into the transaction beside the call. Plain JSON. */
export interface WiringFacts {
  /** Every name below one of these is the platform's to give out. */
  readonly baseDomains: readonly string[];
  /** Names that the platform uses itself. */
  readonly reservedHostnames: readonly string[];
  /** Whether the vertical that the body names is known here. */
  readonly verticalKnown: boolean;
  /** What the platform delivers to a new instance of that vertical. */
  readonly newScopeSettings: Readonly<Record<string, string>>;
}

/** What a read answers. */
export interface Answer<T> {
  readonly value: T;
  readonly etag?: string;
}

/** The part of an admin-log row that a family decides: fields named one by one, never a whole record. */
export interface AuditEntry {
  readonly target: LogTarget;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
}

/** What a change did and answers. */
export interface Change<T = unknown> {
  readonly status: 200 | 201 | 202 | 204;
  readonly value: T;
  readonly etag?: string;
  /** Null exactly when nothing was changed: then no row is written. */
  readonly audit: AuditEntry | null;
  /** True when host names, or what they lead to, are different now. */
  readonly rerouted?: boolean;
  /** The answer holds a secret and is not kept for a replay; this sentence is what a replay is told. */
  readonly shownOnce?: string;
}

/**
 * A change as a handler answers it. What it leaves out follows from the declaration: the status of success, the value
 * null, and the ETag that the value itself carries.
 */
export type ChangeAnswer<T = unknown> = Omit<Change<T>, 'status' | 'value'> &
  Partial<Pick<Change<T>, 'status'>> &
  ([T] extends [null] ? { readonly value?: null } : { readonly value: T });

/** The transaction of a change. */
export interface ChangeContext extends UnitContext {
  /** The sequence that the change's admin-log row will have; it becomes the ETag of what is changed. */
  readonly revision: number;
  readonly facts: WiringFacts;
  /** The intent of this very call that was left without an outcome, or null. See `requireMatch`. */
  readonly resumes: number | null;
}

/** The transaction that ends an effect. */
export interface EndContext extends ChangeContext {
  /** The sequence of the intent that it began with. */
  readonly intent: number;
}

/** Begins an effect elsewhere: either nothing is left to do, or an intent is written and the effect follows. */
export type Beginning<T, Prepared> =
  | { readonly change: ChangeAnswer<T> }
  | { readonly intent: AuditEntry; readonly prepared: Prepared };

export interface DelegatedHandlers<Op extends AdminOperation, Prepared, Facts> {
  begin(context: ChangeContext, call: CallOf<Op>): Beginning<z.input<Op['output']>, Prepared>;
  /** Writes down that the effect happened. `facts` are what the vertical answered, without any secret. */
  settle(context: EndContext, call: CallOf<Op>, facts: Facts): ChangeAnswer;
  /** Takes back what `begin` wrote, when the effect is known not to have happened. Default: nothing is taken back. */
  undo?(context: EndContext, call: CallOf<Op>, prepared: Prepared): void;
  /**
   * Whether the success of this call makes the outcome of an earlier one on the same scope immaterial.
   * @param earlier what the earlier intent logged as `after`. Default: it does.
   */
  supersedes?(call: CallOf<Op>, earlier: AuditEntry['after']): boolean;
}

/** Who answers an operation: it carries the declaration that it answers. Types are erased, as the unit keeps it. */
interface Answers<Kind extends string> {
  readonly kind: Kind;
  readonly operation: AdminOperation;
}

export interface ReadHandler extends Answers<'read'> {
  (context: UnitContext, call: AdminCall): Answer<unknown>;
}

export interface ChangeHandler extends Answers<'change'> {
  (context: ChangeContext, call: AdminCall): Change;
}

export interface DelegatedHandler extends Answers<'delegated'> {
  begin(
    context: ChangeContext,
    call: AdminCall,
  ): { readonly change: Change } | Exclude<Beginning<unknown, unknown>, { readonly change: unknown }>;
  settle(context: EndContext, call: AdminCall, facts: unknown): Change;
  undo(context: EndContext, call: AdminCall, prepared: unknown): void;
  supersedes(call: AdminCall, earlier: AuditEntry['after']): boolean;
}

/** What a change would touch, as far as the directory knows. */
export interface PlanHandler extends Answers<'plan'> {
  (context: UnitContext, call: AdminCall): unknown;
}

/** A change that is over when its call has been answered. */
type Audited = AdminOperation & { readonly audit: 'audit'; readonly success: 200 | 201 | 204 };

/**
 * Answers a read of the directory's own data.
 * The transport parsed the call with this very declaration, so its fields are what the types say; so everywhere here.
 */
export function read<Op extends AdminOperation & { readonly audit: 'access' | 'none' }>(
  operation: Op,
  handler: (context: UnitContext, call: CallOf<Op>) => Answer<z.input<Op['output']>>,
): ReadHandler {
  const answer = (context: UnitContext, call: AdminCall) =>
    withEtag(operation, handler(context, call as unknown as CallOf<Op>));
  return Object.assign(answer, { kind: 'read' as const, operation });
}

/** Answers a change that is done with the directory's own transaction. */
export function change<Op extends Audited>(
  operation: Op,
  handler: (context: ChangeContext, call: CallOf<Op>) => ChangeAnswer<z.input<Op['output']>>,
): ChangeHandler {
  const answer = (context: ChangeContext, call: AdminCall) =>
    completed(operation, handler(context, call as unknown as CallOf<Op>));
  return Object.assign(answer, { kind: 'change' as const, operation });
}

/** Answers a change whose effect lies elsewhere; the effect itself is the host administration's. */
export function delegated<Op extends Audited, Prepared, Facts>(
  operation: Op,
  handlers: DelegatedHandlers<Op, Prepared, Facts>,
): DelegatedHandler {
  return {
    kind: 'delegated',
    operation,
    begin: (context, call) => {
      const beginning = handlers.begin(context, call as unknown as CallOf<Op>);
      return 'change' in beginning ? { change: completed(operation, beginning.change) } : beginning;
    },
    settle: (context, call, facts) =>
      completed(operation, handlers.settle(context, call as unknown as CallOf<Op>, facts as Facts)),
    undo: (context, call, prepared) =>
      handlers.undo?.(context, call as unknown as CallOf<Op>, prepared as Prepared),
    supersedes: (call, earlier) => handlers.supersedes?.(call as unknown as CallOf<Op>, earlier) ?? true,
  };
}

/**
 * Answers the plan of a change: what it would touch, and how much, without touching it (design: control-plane, "Long
 * work"). A plan refuses what the change would refuse, and runs where the engine lets no one write.
 */
export function planned<Op extends AdminOperation & { readonly plan: z.ZodObject }>(
  operation: Op,
  handler: (context: UnitContext, call: CallOf<Op>) => z.input<Op['plan']>,
): PlanHandler {
  const plan = (context: UnitContext, call: AdminCall) => handler(context, call as unknown as CallOf<Op>);
  return Object.assign(plan, { kind: 'plan' as const, operation });
}

function completed(operation: Audited, answer: Partial<Change> & Pick<Change, 'audit'>): Change {
  return withEtag(operation, { status: operation.success, value: null, ...answer });
}

/** A value that shows the thing itself carries its ETag. */
function withEtag<T extends Answer<unknown>>(operation: AdminOperation, answer: T): T {
  const { value, etag } = answer as Answer<{ readonly etag?: unknown } | null>;
  if (!operation.etag || etag !== undefined || typeof value?.etag !== 'string') return answer;
  return { ...answer, etag: value.etag };
}
