/** The types of a client, computed from a table of declarations. */
import type {
  AdminOperation,
  BytesAnswer,
  StepEvents,
  UploadedBytes,
} from '@freehold/directory/declarations';
import type { z } from 'zod';
import type { AdminOperationTable } from '../declared/operations.ts';
import type { CallOptions, ClientResponse, FollowOptions, FormFile, Upload } from './call.ts';

/** `set-status` → `setStatus`. */
export type CamelCase<Text extends string> = Text extends `${infer Head}-${infer Others}`
  ? `${Head}${Capitalize<CamelCase<Others>>}`
  : Text;

/** `tenants.set-status` becomes `client.tenants.setStatus`. */
export type ClientOf<Table extends AdminOperationTable, Filled extends string = never> = {
  readonly [Family in FamilyOf<keyof Table> as CamelCase<Family>]: {
    readonly [Verb in VerbOf<keyof Table, Family> as CamelCase<Verb>]: Method<
      Table[`${Family}.${Verb}` & keyof Table],
      Filled
    >;
  };
};

/** The operations of a table that a builder may call. */
export type BuilderTable<Table extends AdminOperationTable> = {
  readonly [Name in keyof Table as 'own-tenant' extends Table[Name]['builder'] ? Name : never]: Table[Name];
};

/** One operation as a method; `Filled` names the fields that the client fills in by itself. */
export type Method<Op extends AdminOperation, Filled extends string = never> = CallMethod<Op, Filled> &
  (Op['output'] extends z.ZodType<infer Out>
    ? Out extends { readonly items: readonly (infer Item)[]; readonly nextCursor: string | null }
      ? IterateMethod<Op, Filled, Item>
      : unknown
    : unknown);

type CallMethod<Op extends AdminOperation, Filled extends string> = Op extends {
  readonly plan: infer Plan extends z.ZodObject;
}
  ? PlannedMethod<Op, Filled, z.output<Plan>>
  : PlainMethod<Op, Filled>;

interface PlainMethod<Op extends AdminOperation, Filled extends string> {
  /** Calls the operation and answers its value. */
  (...args: CallArguments<Op, Filled>): Promise<AnswerOf<Op>>;
  /** The same, with status, etag, request id and the head of the admin log. */
  response(...args: CallArguments<Op, Filled>): Promise<ClientResponse<AnswerOf<Op>>>;
}

/**
 * A method that answers its plan when `query.dryRun` is true. Where that is known only at run time, the answer's
 * `dryRun` tells the two apart.
 */
interface PlannedMethod<Op extends AdminOperation, Filled extends string, Plan> {
  (input: CallInput<Op, Filled> & Asks<true>, options?: OptionsOf<Op>): Promise<Plan>;
  (...args: Undemanding<CallArguments<Op, Filled>>): Promise<AnswerOf<Op>>;
  (...args: CallArguments<Op, Filled>): Promise<AnswerOf<Op> | Plan>;
  response(input: CallInput<Op, Filled> & Asks<true>, options?: OptionsOf<Op>): Promise<ClientResponse<Plan>>;
  response(...args: Undemanding<CallArguments<Op, Filled>>): Promise<ClientResponse<AnswerOf<Op>>>;
  response(...args: CallArguments<Op, Filled>): Promise<ClientResponse<AnswerOf<Op> | Plan>>;
}

interface Asks<DryRun extends boolean> {
  readonly query: { readonly dryRun: DryRun };
}

/** The arguments of a call that asks for no plan. */
type Undemanding<Arguments extends readonly unknown[]> = Arguments extends [(infer Input)?, (infer Options)?]
  ? [] extends Arguments
    ? [input?: Input & AsksNothing, options?: Options]
    : [input: Input & AsksNothing, options?: Options]
  : never;

interface AsksNothing {
  readonly query?: { readonly dryRun?: false };
}

/** The value of an answer. Bytes come as a stream beside their description: read or cancel it. */
type AnswerOf<Op extends AdminOperation> = Op extends { readonly bytes: BytesAnswer }
  ? z.output<Op['output']> & { readonly body: ReadableStream<Uint8Array> }
  : z.output<Op['output']>;

interface IterateMethod<Op extends AdminOperation, Filled extends string, Item> {
  /** Yields every item of every page, fetched on demand; `limit` is the size of a page. */
  iterate(...args: CallArguments<Op, Filled>): AsyncGenerator<Item, void, undefined>;
}

/** The input may be left out where nothing in it is required. */
export type CallArguments<Op extends AdminOperation, Filled extends string = never> =
  Record<never, never> extends CallInput<Op, Filled>
    ? [input?: CallInput<Op, Filled>, options?: OptionsOf<Op>]
    : [input: CallInput<Op, Filled>, options?: OptionsOf<Op>];

/** A call that reports its steps takes a listener. */
type OptionsOf<Op extends AdminOperation> = Op extends { readonly events: StepEvents }
  ? FollowOptions<z.output<Op['events']['progress']>>
  : CallOptions;

/** `{ params, query, body }`, each where it is declared, and required where something in it is. */
export type CallInput<Op extends AdminOperation, Filled extends string = never> = Part<
  'params',
  Op['input']['params'],
  Filled
> &
  Part<'query', Op['input']['query'], Filled> &
  Part<'body', Op['input']['body'], Filled | FilesField<Op>> &
  (Op extends { readonly upload: UploadedBytes } ? { readonly upload: Upload } : unknown) &
  (FilesField<Op> extends never ? unknown : { readonly files: readonly FormFile[] });

/** The field of the body that the files of a form stand for. */
type FilesField<Op> = Op extends { readonly form: { readonly files: infer Name extends string } }
  ? Name
  : never;

type Part<Name extends string, Schema, Filled extends string> = Schema extends z.ZodObject
  ? Fields<Name, Omit<z.input<Schema>, Filled>>
  : { readonly [N in Name]?: undefined };

type Fields<Name extends string, Value> =
  Record<never, never> extends Value
    ? { readonly [N in Name]?: Readonly<Value> }
    : { readonly [N in Name]: Readonly<Value> };

type FamilyOf<Name> = Name extends `${infer Family}.${string}` ? Family : never;
type VerbOf<Name, Family extends string> = Name extends `${Family}.${infer Verb}` ? Verb : never;
