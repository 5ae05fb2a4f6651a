/**
 * An admin operation, declared once: its route, validation, OpenAPI entry, client method, CLI command and staff
 * tool are derived from this (design: control-plane-routes). Data only, so that a client can import it.
 */
import type { HttpBinding, OperationContract } from '@freehold/operations';
import { z } from 'zod';
import type { PlatformGrant } from './platform-grants.ts';

/** The callers beside staff (see {@link StaffAccess}) and service tokens. */
export type BuilderAccess =
  /** No other. */
  | 'none'
  /** A builder, for its own tenant; every other tenant reads as `not_found`, and an omitted one is filled in. */
  | 'own-tenant';

/** The access that a member of the staff needs: an auditor reads, an operator also operates, an admin does all three. */
export type StaffAccess = 'read' | 'operate' | 'administer';

/** The log that a call is written to. */
export type AuditRule =
  /** A mutation: one admin-log row in the mutation's own transaction. */
  | 'audit'
  /** A read of tenant data by staff: one access-log row with the number of items. */
  | 'access'
  /** A read of the platform's own data. */
  | 'none';

/** The schemas of a call. Unknown fields are refused. */
export interface AdminInput {
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
}

/** An answer of bytes: `output` then describes them and travels in the headers. */
export interface BytesAnswer {
  /** The field of `output` that decides the media type, and the media type of each of its values. */
  readonly mediaType: { readonly field: string; readonly types: Readonly<Record<string, string>> };
  /** Header → the field of `output` that it carries, as text. One that is null is left out. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A body of bytes: its media types and its bound. */
export interface UploadedBytes {
  readonly mediaTypes: readonly string[];
  readonly bytesMax: number;
}

/**
 * A second form of the body: `multipart/form-data` (RFC 7578). Its field `meta` is the JSON body without the files; every
 * other part is a file. A file name may hold directories.
 */
export interface FormBody {
  /** The field of the body that the files stand for: a list of `{ name, mediaType, base64 }`. */
  readonly files: string;
  /** Of the form as a whole. */
  readonly bytesMax: number;
}

/**
 * The events of a call that reports its steps. The answer is 200 once the work has begun; a refusal before that has its own
 * status. Events named `progress` follow, and a last one: `done` with the answer of a call without events, its id being the
 * head of the admin log (`sequence:hash`), or `failed` with the problem (RFC 9457).
 */
export interface StepEvents {
  /** The form of one step; its field `step` names it. */
  readonly progress: z.ZodObject<{ readonly step: z.ZodType<string> }>;
}

export interface AdminOperation<I extends AdminInput = AdminInput, O extends z.ZodType = z.ZodType>
  extends OperationContract<I, O>,
    HttpBinding {
  /** `family.verb`: the client's method and the CLI's command. */
  readonly name: string;
  /** The group in the documentation: `Tenants`. */
  readonly tag: string;
  /** Present: the answer is a stream of bytes, and `output` travels in its headers. */
  readonly bytes?: BytesAnswer;
  /**
   * The status of success; an idempotent create answers 200 instead of 201 for a thing that exists. 202 is long
   * work: `output` is then the record by which it is followed (see `long-work.ts`).
   */
  readonly success: 200 | 201 | 202 | 204;
  /**
   * The answer to `?dryRun=true`, with status 200, where the operation has that query field: everything that would be
   * touched. Its field `dryRun` is true, which tells it from `output`.
   */
  readonly plan?: z.ZodObject;
  /**
   * Present: a caller that accepts `text/event-stream` gets events instead of one record. `true`: each event is the whole
   * record, as with long work.
   */
  readonly events?: true | StepEvents;
  /** Present: the body is bytes, whose media type is one of these. */
  readonly upload?: UploadedBytes;
  /** Present: the body may also be a form, with files that are too large for JSON. */
  readonly form?: FormBody;
  /** A second address without `:tenant`: the tenant is then that of the scope. */
  readonly shortPath?: string;
  readonly builder: BuilderAccess;
  /** The least kind of push token that may call it, where builders may. Default: `operate`. */
  readonly pushToken?: 'deploy' | 'read';
  /** Default: `read` for a GET and for a read that is logged, `operate` for everything else. */
  readonly staff?: StaffAccess;
  /**
   * Present: a vertical with this grant may call it too. Only for a change inside the directory, which looks the grant up
   * in its own transaction. Default: no vertical may.
   */
  readonly vertical?: PlatformGrant;
  readonly audit: AuditRule;
  /**
   * Present: it deletes, ends, replaces or revokes, so that a program asks its person first (in MCP: `destructiveHint`).
   * Default: it only adds or records.
   */
  readonly destructive?: true;
  /**
   * Whether `If-Match` is checked, and an answer that shows the thing carries its ETag. A plan shows no thing, and a 202
   * shows the record of the work.
   */
  readonly etag?: boolean;
  /** Present: the answer of a read changes without its record too, so that its ETag proves nothing for a 304. */
  readonly volatile?: true;
}

type Defaulted = 'success' | 'builder' | 'audit';

/** A declaration as it is written down: what it leaves out is as {@link Defaults} says. */
type Declared = Omit<AdminOperation, Defaulted> & Partial<Pick<AdminOperation, Defaulted>>;

/** The usual operation: answered with 200, for staff and services alone; a GET is not logged, and a change is. */
export interface Defaults<Method> {
  readonly success: 200;
  readonly builder: 'none';
  readonly audit: Method extends 'GET' ? 'none' : 'audit';
}

/** Completes a declaration with the defaults, and gives it its exact type. */
export function adminOperation<const Op extends Declared>(
  operation: Op,
): Op & Omit<Defaults<Op['method']>, keyof Op> {
  const audit = operation.method === 'GET' ? 'none' : 'audit';
  return { success: 200, builder: 'none', audit, ...operation } as never;
}

/**
 * Asks for the plan: the answer lists everything that would be touched, after the checks of the real call. Nothing is
 * changed, here or elsewhere, and no idempotency key is kept.
 */
export const dryRun = z.boolean().optional().describe('True answers the plan, and changes nothing');

/** The query of an operation that takes nothing else there. */
export const dryRunQuery = z.strictObject({ dryRun });

/** A number of things. */
export const planCount = z.int().min(0);

/** The effect of a change of state on the served things. */
export const servingEffect = z.enum(['stops', 'resumes', 'none']);
