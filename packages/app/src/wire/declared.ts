/** The answers from which the pages of records are made: what an application declares, for one caller. */
import { z } from 'zod';

/** The ways in which a value is typed and shown. `json` is any other value, as JSON text. */
const valueKind = z.enum([
  'line',
  'text',
  'email',
  'url',
  'integer',
  'number',
  'money',
  'minutes',
  'day',
  'time',
  'moment',
  'boolean',
  'choice',
  'choices',
  'relation',
  'json',
]);

/** One field of a record or of an input. */
export const declaredField = z.object({
  name: z.string(),
  /** For people: the `title` of its schema, or its name in words. */
  label: z.string(),
  /** More for people: the `description` of its schema. */
  hint: z.string().optional(),
  kind: valueKind,
  /** Whether an input without it is refused. */
  required: z.boolean(),
  /** Whether its value can be null. */
  nullable: z.boolean(),
  /** The value that it has when it is left out. */
  default: z.json().optional(),
  options: z.array(z.object({ value: z.string(), label: z.string() })).optional(),
  /** ISO 4217; the value is in its smallest unit. */
  currency: z.string().optional(),
  /** The type of the records that it names. */
  target: z.string().optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  /** In characters. */
  lengthMax: z.int().optional(),
});
export type DeclaredField = z.infer<typeof declaredField>;

/** One type of records. */
export const declaredKind = z.object({
  type: z.string(),
  /** The name of an id in inputs. */
  parameter: z.string(),
  /** Names for people. */
  singular: z.string(),
  several: z.string(),
  /** The address of the pages: `/animals`. */
  page: z.string(),
  /** The address of the API: `/api/animals`. */
  path: z.string(),
  /** The name of the field that stands for a record. */
  title: z.string(),
  fields: z.array(declaredField),
  isSearched: z.boolean(),
  /** The combinations of fields that a list can be narrowed by. */
  filters: z.array(z.array(z.string())),
  /** The orders of a list, the usual one first. */
  sorts: z.array(z.string()),
  /** The caller's rights on files of a record, everywhere or on some; null where records have none. */
  attachments: z.object({ write: z.boolean(), remove: z.boolean() }).nullable(),
});
export type DeclaredKind = z.infer<typeof declaredKind>;

/** One operation that the caller may perform, on all records or on some. */
export const declaredOperation = z.object({
  name: z.string(),
  /** For people, in the builder's words. */
  summary: z.string(),
  description: z.string().optional(),
  method: z.string(),
  /** With its parameters: `/api/animals/:animal`. */
  path: z.string(),
  isReading: z.boolean(),
  isDestructive: z.boolean(),
  /** The type of the record that it is about, and the name of the input field with the id; null for none. */
  about: z.object({ type: z.string(), parameter: z.string() }).nullable(),
  /** Its input, without the id of the record. */
  fields: z.array(declaredField),
});
export type DeclaredOperation = z.infer<typeof declaredOperation>;

/** `GET /api/declaration`: what there is for the caller. */
export const declarationResponse = z.object({
  name: z.string(),
  kinds: z.array(declaredKind),
  operations: z.array(declaredOperation),
});
export type Declaration = z.infer<typeof declarationResponse>;

/** `GET <record>/operations`: the names of the operations about a record that the caller may perform on it now. */
export const offeredResponse = z.object({ operations: z.array(z.string()) });
