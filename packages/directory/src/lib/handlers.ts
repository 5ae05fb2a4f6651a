/**
 * The shapes that the operations of a feature fill in: a read, a change, a change with an effect outside the directory, long
 * work, and a plan. Handlers are synchronous and run in the directory's transaction.
 *
 * The transport parsed each call with the declaration that its handler carries. So the types of a handler are erased here,
 * and the fields of a call still are what they say.
 */
import type { ScopeId, TenantId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { z } from 'zod';
import type { AdminCall } from '../access/actors.ts';
import type { AdminOperation } from '../declarations/admin-operation.ts';
import type { LogTarget } from '../declarations/records.ts';

type Fields<S> = S extends z.ZodObject ? z.output<S> : Readonly<Record<string, never>>;

/** A call of one operation, with the fields of its declaration. */
export type CallOf<Op extends AdminOperation> = Omit<AdminCall, 'params' | 'query' | 'body'> & {
  readonly params: Fields<Op['input']['params']>;
  readonly query: Fields<Op['input']['query']>;
  readonly body: Fields<Op['input']['body']>;
};

/** Facts that only the wiring knows, passed into the transaction beside the call. Plain JSON. */
export interface WiringFacts {
  /** The platform assigns every name below one of these. */
  readonly baseDomains: readonly string[];
  /** Names that the platform uses itself. */
  readonly reservedHostnames: readonly string[];
  /** Whether the vertical that the body names is known here. */
  readonly verticalKnown: boolean;
  /** The platform's settings for a new instance of that vertical. */
  readonly newScopeSettings: Readonly<Record<string, string>>;
  /** The version of that vertical that serves while the registry has none on prod. */
  readonly unregisteredVersion: string;
}

/** The answer of a read. */
export interface Answer<T> {
  readonly value: T;
  readonly etag?: string;
}

/** The part of an admin-log row that a feature decides: fields named one by one, never a whole record. */
export interface AuditEntry {
  readonly target: LogTarget;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
}

/** The outcome of a change. */
export interface Change<T = unknown> {
  readonly status: 200 | 201 | 202 | 204;
  readonly value: T;
  readonly etag?: string;
  /** Null exactly when nothing was changed: then no row is written. */
  readonly audit: AuditEntry | null;
  /** True when host names changed, or the scopes that they lead to. */
  readonly rerouted?: boolean;
  /** The answer holds a secret and is not kept for a replay; a replay is refused with this sentence. */
  readonly shownOnce?: string;
}

/**
 * A change as a handler returns it. The declaration completes it: the status of success, the value null, and the ETag that
 * the value itself carries.
 */
export type ChangeAnswer<T = unknown> = Omit<Change<T>, 'status' | 'value'> &
  Partial<Pick<Change<T>, 'status'>> &
  ([T] extends [null] ? { readonly value?: null } : { readonly value: T });

/**
 * The host names that a change concerns, each part narrowing the one before: those of a scope, of all scopes of a tenant, of
 * all scopes of a vertical. Without any part it concerns all of them, as after a restore of the directory.
 */
export interface RoutesChange {
  readonly tenant: TenantId | null;
  readonly scope: ScopeId | null;
  readonly vertical: string | null;
}

/** The transaction of a change. */
export interface ChangeContext extends UnitContext {
  /** The sequence that the change's admin-log row will have; it becomes the ETag of the changed resource. */
  readonly revision: number;
  readonly facts: WiringFacts;
  /** The intent of an earlier attempt of this call that has no outcome, or null. See `requireMatch`. */
  readonly resumes: number | null;
}

/** The transaction that ends an effect. */
export interface EndContext extends ChangeContext {
  /** The sequence of the effect's intent. */
  readonly intent: number;
}

/** The beginning of an effect: a change when nothing is left to do elsewhere, else the intent to log. */
export type Beginning<T, Prepared> =
  | { readonly change: ChangeAnswer<T> }
  | { readonly intent: AuditEntry; readonly prepared: Prepared };

export interface DelegatedHandlers<Op extends AdminOperation, Prepared, Facts> {
  begin(context: ChangeContext, call: CallOf<Op>): Beginning<z.input<Op['output']>, Prepared>;
  /** Records that the effect happened. `facts` are the answer from outside, without any secret. */
  settle(context: EndContext, call: CallOf<Op>, facts: Facts): ChangeAnswer;
  /** Takes back the rows of `begin` when the effect is known not to have happened. Default: takes nothing back. */
  undo?(context: EndContext, call: CallOf<Op>, prepared: Prepared): void;
  /**
   * Whether the success of this call makes the outcome of an earlier one on the same scope immaterial.
   * @param earlier the `after` of the earlier intent. Default: it does.
   */
  supersedes?(call: CallOf<Op>, earlier: AuditEntry['after']): boolean;
}

/** A handler carries the declaration of its operation. */
interface Answers<Kind extends string> {
  readonly kind: Kind;
  readonly operation: AdminOperation;
}

export interface ReadHandler extends Answers<'read'> {
  answer(context: UnitContext, call: AdminCall): Answer<unknown>;
}

export interface ChangeHandler extends Answers<'change'> {
  change(context: ChangeContext, call: AdminCall): ChangeAnswer;
}

export interface DelegatedHandler extends Answers<'delegated'> {
  begin(context: ChangeContext, call: AdminCall): Beginning<unknown, unknown>;
  settle(context: EndContext, call: AdminCall, facts: unknown): ChangeAnswer;
  undo?(context: EndContext, call: AdminCall, prepared: unknown): void;
  supersedes?(call: AdminCall, earlier: AuditEntry['after']): boolean;
}

export interface PlanHandler extends Answers<'plan'> {
  plan(context: UnitContext, call: AdminCall): unknown;
}

/** A change that is complete when its call is answered. */
type Audited = AdminOperation & { readonly audit: 'audit'; readonly success: 200 | 201 | 204 };

/** Declares the handler of a read of the directory's own data. */
export function read<Op extends AdminOperation & { readonly audit: 'access' | 'none' }>(
  operation: Op,
  answer: (context: UnitContext, call: CallOf<Op>) => Answer<z.input<Op['output']>>,
): ReadHandler {
  return { kind: 'read', operation, answer: answer as unknown as ReadHandler['answer'] };
}

/** Declares the handler of a change that is complete with the directory's own transaction. */
export function change<Op extends Audited>(
  operation: Op,
  make: (context: ChangeContext, call: CallOf<Op>) => ChangeAnswer<z.input<Op['output']>>,
): ChangeHandler {
  return { kind: 'change', operation, change: make as unknown as ChangeHandler['change'] };
}

/** Declares the handler of a change with an effect outside the directory. The host administration performs the effect. */
export function delegated<Op extends Audited, Prepared, Facts>(
  operation: Op,
  handlers: DelegatedHandlers<Op, Prepared, Facts>,
): DelegatedHandler {
  return {
    kind: 'delegated',
    operation,
    ...(handlers as unknown as Omit<DelegatedHandler, 'kind' | 'operation'>),
  };
}

/**
 * Declares the plan of a change: everything that it would touch, and how much (design: control-plane, "Long work"). It runs
 * as a query.
 * @throws PlatformError wherever the change itself would.
 */
export function planned<Op extends AdminOperation & { readonly plan: z.ZodObject }>(
  operation: Op,
  plan: (context: UnitContext, call: CallOf<Op>) => z.input<Op['plan']>,
): PlanHandler {
  return { kind: 'plan', operation, plan: plan as unknown as PlanHandler['plan'] };
}

export interface LongBeginning<Work> {
  readonly intent: AuditEntry;
  /** Plain JSON, stored until the end: everything that the work needs, also after a restart. Never a secret. */
  readonly work: Work;
  /** The subject: `scope:scp_…`. Other work on it is refused until this has finished. */
  readonly subject: string;
  /** The unit of its progress: `bytes`, `scopes`. */
  readonly unit: string;
  /** Default: not known. */
  readonly total?: number;
}

/** The transaction that ends long work. */
export interface LongEndContext extends UnitContext {
  /** The sequence that the admin-log row of this end will have. */
  readonly revision: number;
  readonly intent: number;
}

interface LongEnding {
  /** The result in the record of the operation. Plain JSON, without a secret. */
  readonly result: unknown;
  readonly audit: AuditEntry;
  /** True when host names, or their targets, have changed. */
  readonly rerouted?: boolean;
}

interface LongHandlers<Op extends AdminOperation, Work, Facts> {
  /** Refuses the work, or returns its description. Its writes are committed before the work begins. */
  begin(context: ChangeContext, call: CallOf<Op>): LongBeginning<Work>;
  /** The plan, refusing what `begin` would refuse. It must not write. */
  plan?(context: UnitContext, call: CallOf<Op>): z.input<NonNullable<Op['plan']>>;
  /** Writes down that it was done. */
  settle(context: LongEndContext, work: Work, facts: Facts): LongEnding;
  /** Takes back the writes of `begin`, when the work is known not to have been done. Default: nothing. */
  undo?(context: LongEndContext, work: Work): void;
}

/** The handlers with their types erased. */
export interface LongHandler {
  readonly kind: 'long';
  readonly operation: AdminOperation;
  begin(context: ChangeContext, call: AdminCall): LongBeginning<unknown>;
  plan: ((context: UnitContext, call: AdminCall) => unknown) | null;
  settle(context: LongEndContext, work: unknown, facts: unknown): LongEnding;
  undo(context: LongEndContext, work: unknown): void;
}

/** Handles long work, which continues in the background after the answer. */
export function longWork<
  Op extends AdminOperation & { readonly audit: 'audit'; readonly success: 202 },
  Work,
  Facts,
>(operation: Op, handlers: LongHandlers<Op, Work, Facts>): LongHandler {
  const { plan } = handlers;
  return {
    kind: 'long',
    operation,
    begin: (context, call) => handlers.begin(context, call as unknown as CallOf<Op>),
    plan: plan ? (context, call) => plan(context, call as unknown as CallOf<Op>) : null,
    settle: (context, work, facts) => handlers.settle(context, work as Work, facts as Facts),
    undo: (context, work) => handlers.undo?.(context, work as Work),
  };
}
