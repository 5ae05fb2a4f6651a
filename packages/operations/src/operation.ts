/**
 * A declared operation. Its route, validation, OpenAPI entry, MCP tool, client method and command are all derived from the
 * one declaration (design: architecture, "One declaration per operation"). What is here is what every operation says of
 * itself; who may call it, what is written down about it and how it is performed is each platform part's own.
 */
import type { EntityRef, HttpMethod, ProblemCode, SubjectCaller, SubjectReader } from '@freehold/contracts';
import type { z } from 'zod';

/** The part of a declaration that every operation has. `I` is one schema, or one for each part of a request. */
export interface OperationContract<I = unknown, O extends z.ZodType = z.ZodType> {
  /** One line for people: the title in the documentation and the MCP tool list. */
  readonly summary: string;
  /** More, where one line is not enough. */
  readonly description?: string;
  readonly input: I;
  readonly output: O;
  /** The codes of failures beyond those that every operation shares. */
  readonly problems?: readonly ProblemCode[];
}

/** Where an operation is reached over HTTP. Path parameters (`/orders/:id`) and, for GET, the query are input fields. */
export interface HttpBinding {
  readonly method: HttpMethod;
  readonly path: string;
}

/** The words for programs beside the summary and the schemas of an operation. */
export interface ToolWords {
  /** Default: the summary. */
  readonly title?: string;
  /** Whether it deletes, ends or replaces something. Default: true exactly for `http.method` DELETE. */
  readonly destructive?: boolean;
  /**
   * A sentence by which a person has their program use the tool: `Confirm {booking}: check the dates, then ask me first.`
   * Names in braces are required input fields that can be written as text, and become the arguments of an MCP prompt.
   * Default: there is no prompt.
   */
  readonly prompt?: string;
}

/**
 * One operation of a vertical, without its context: `Ctx` is what the kernel hands to `run`.
 * `run` is synchronous; a promise is refused.
 */
export interface OperationDeclaration<
  Ctx = unknown,
  I extends z.ZodType = z.ZodType,
  O extends z.ZodType = z.ZodType,
> extends OperationContract<I, O> {
  /** The permission that the caller needs, checked before `run`; narrowed to `entity` when there is one. */
  readonly permission: string;
  /**
   * The record this operation is about. It narrows the permission check, and its version (the id of the last
   * event on it) is the operation's ETag.
   */
  readonly entity?: (input: z.output<I>) => EntityRef;
  /**
   * The record that the operation made, by its output. Over HTTP the answer is then 201, with the record's version as its
   * ETag, and `Location` where `<type>/get` has an address of one parameter. Default: it makes none; 200.
   */
  readonly created?: (output: z.output<O>) => EntityRef;
  /** Default: `POST /api/op/<name>`. */
  readonly http?: HttpBinding;
  /** True when `run` changes nothing: no invocation is recorded. Default: true exactly for `http.method` GET. */
  readonly readOnly?: boolean;
  /** False keeps the operation out of the MCP tool list. */
  readonly mcp?: false | ToolWords;
  /**
   * The persons whose sealed data the operation writes or reads, by their ids. The kernel asks directly before `run`, so
   * that their keys are there. A person whom the operation makes itself (`ctx.newId`) is not among them. To seal or open
   * for any other person is a fault of the operation. What it invokes is part of it. Default: none.
   */
  readonly subjects?: (input: z.output<I>, read: SubjectReader, by: SubjectCaller) => readonly string[];
  /** The number of persons that the operation makes and seals for, at most. Default 4. */
  readonly newSubjects?: (input: z.output<I>) => number;
  /**
   * Whether pages offer it for a record in its present state: given is the answer of `<type>/get`. It permits nothing and
   * forbids nothing: `run` refuses what does not fit. Default: it is always offered to those who may perform it.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the answer of another operation, which the builder knows.
  readonly offered?: (record: any) => boolean;
  readonly run: (ctx: Ctx, input: z.output<I>) => z.input<O>;
}

/** The declarations of one vertical, by name: `order/create`. */
// biome-ignore lint/suspicious/noExplicitAny: a table of declarations mixes contexts and schemas; each was checked where it was declared.
export type OperationTable = Readonly<Record<string, OperationDeclaration<any, any, any>>>;

/** Operation names are `noun/verb`, lower case. */
export const OPERATION_NAME = /^[a-z][a-z0-9-]*(\/[a-z][a-z0-9-]*)+$/;

/** Whether an operation changes nothing (see {@link OperationDeclaration.readOnly}). */
export function isReadOnly(operation: Pick<OperationDeclaration, 'readOnly' | 'http'>): boolean {
  return operation.readOnly ?? operation.http?.method === 'GET';
}

/** Where an operation is reached when its declaration does not say (design: vertical-host). */
export function httpBinding(name: string, operation: Pick<OperationDeclaration, 'http'>): HttpBinding {
  return operation.http ?? { method: 'POST', path: `/api/op/${name}` };
}
