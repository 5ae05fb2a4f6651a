/**
 * An admin operation, declared once: its route, validation, OpenAPI entry, client method, CLI command and staff
 * tool are derived from this (design: control-plane-routes). Data only, so that a client can import it.
 */
import type { HttpBinding, OperationContract } from '@freehold/operations';
import type { z } from 'zod';
import type { PlatformGrant } from './platform-grants.ts';

/** Who may call, beside staff (see {@link StaffAccess}) and service tokens, which may call everything. */
export type BuilderAccess =
  /** Nobody else. */
  | 'none'
  /** A builder, for its own tenant; every other tenant reads as `not_found`, and an omitted one is filled in. */
  | 'own-tenant';

/** What a member of the staff must be allowed: an auditor reads, an operator also operates, an admin does all three. */
export type StaffAccess = 'read' | 'operate' | 'administer';

/** What is written down about a call. */
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

/** An answer of bytes: `output` is then what its headers say of them. */
export interface BytesAnswer {
  /** Which field of `output` decides the media type, and the one for each of its values. */
  readonly mediaType: { readonly field: string; readonly types: Readonly<Record<string, string>> };
  /** Header → the field of `output` that it carries, as text. One that is null is left out. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A body of bytes: which field of the query says what they are, and how many may come. */
export interface UploadedBytes {
  readonly mediaTypes: readonly string[];
  readonly bytesMax: number;
}

/**
 * A second form of the body: `multipart/form-data` (RFC 7578). Its field `meta` is JSON and says everything but the files;
 * every other part is one of those, named by its file name, so that a form can hold directories.
 */
export interface FormBody {
  /** Which field of the body the files stand for: a list of `{ name, mediaType, base64 }`. */
  readonly files: string;
  /** Of the form as a whole. */
  readonly bytesMax: number;
}

/**
 * The events of a call that says how it gets on. The answer is 200 as soon as something has begun, and what was refused
 * before that has its own status. Then events named `progress` come, and a last one: `done` with the very answer of a call
 * without events, its id being the head of the admin log (`sequence:hash`), or `failed` with the problem (RFC 9457).
 */
export interface StepEvents {
  /** The form of one step, told by its field `step`. */
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
   * The status of success; an idempotent create answers 200 instead of 201 when the thing was there already. 202 is long
   * work: `output` is then the record by which it is followed (see `long-work.ts`).
   */
  readonly success: 200 | 201 | 202 | 204;
  /**
   * What `?dryRun=true` answers, with status 200, where the operation has such a query field: what would be touched. Its
   * `dryRun` is true, by which it is told from `output`.
   */
  readonly plan?: z.ZodObject;
  /**
   * Present: whoever accepts `text/event-stream` is answered events instead of one record. `true`: each of them is the
   * record again, as with long work.
   */
  readonly events?: true | StepEvents;
  /** Present: the body is bytes, whose media type is one of these. */
  readonly upload?: UploadedBytes;
  /** Present: the body may come as a form too, with files that JSON has no room for. */
  readonly form?: FormBody;
  /** A second address, which leaves `:tenant` out: the tenant is then that of the scope. */
  readonly shortPath?: string;
  readonly builder: BuilderAccess;
  /** Default: `read` for a GET and for a read that is logged, `operate` for everything else. */
  readonly staff?: StaffAccess;
  /**
   * Present: a vertical with this grant may call it too. Only for a change inside the directory, which looks the grant up
   * in its own transaction. Default: no vertical may.
   */
  readonly vertical?: PlatformGrant;
  readonly audit: AuditRule;
  /**
   * Present: it deletes, ends, replaces or shuts out, so that a program asks its person first (in MCP: `destructiveHint`).
   * Default: it only adds, or writes down.
   */
  readonly destructive?: true;
  /**
   * Whether `If-Match` is honoured, and an answer that shows the thing itself carries its ETag. A plan shows no thing, and
   * a 202 the record of the work.
   */
  readonly etag?: boolean;
  /** Present: a read shows what changes without its record too, so that its ETag proves nothing for a 304. */
  readonly volatile?: true;
}

type Defaulted = 'success' | 'builder' | 'audit';

/** A declaration as it is written down: what it leaves out is as {@link Defaults} says. */
type Declared = Omit<AdminOperation, Defaulted> & Partial<Pick<AdminOperation, Defaulted>>;

/** The usual operation: answered with 200, for staff and services alone; a GET is not logged, and a change is. */
interface Defaults<Method> {
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
