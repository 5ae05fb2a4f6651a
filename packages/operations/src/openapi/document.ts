/**
 * One OpenAPI 3.1 document, which is JSON Schema 2020-12, which is what zod writes. A document is written with zod
 * schemas where its schemas belong; here they become JSON, and those that have an id (`.meta({ id })`) move to
 * `components.schemas`, each under one name.
 */

import type { JsonSchema } from '@freehold/contracts/http';
import { z } from 'zod';

/** A JSON object of a document, with zod schemas in it. */
export type Part = Readonly<Record<string, unknown>>;

/** A document as it is written, without its named schemas. */
export interface OpenApiSource {
  readonly openapi: '3.1.0';
  readonly info: Part;
  readonly servers?: readonly Part[];
  readonly security: readonly Part[];
  readonly tags?: readonly { readonly name: string; readonly description: string }[];
  /** Path → method in lower case → operation. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Part>>>>;
  readonly components: {
    readonly responses: Part;
    readonly headers: Part;
    readonly parameters?: Part;
    readonly securitySchemes: Part;
  };
}

/** A document whose schemas are JSON. */
export interface OpenApiDocument extends OpenApiSource {
  readonly components: OpenApiSource['components'] & {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
}

export interface AssembleOptions {
  /** `any` describes an answer without a form in JSON, such as a transform's, as anything. Default: `throw`. */
  readonly unrepresentable?: 'throw' | 'any';
  /** Ids of schemas that name none themselves (`.meta({ id })`). Default: none. */
  readonly names?: ReadonlyMap<z.ZodType, string>;
}

/**
 * Makes the document. What is below `responses` is described as it is answered, open for fields to come, so that older
 * clients keep working; everything else as it is sent. A named schema whose two forms differ is `<Id>Input` as it is
 * sent. Shared responses, parameters and headers that nothing points at are left out.
 * @throws TypeError naming the operation when a schema has no form in JSON, and for two schemas of one id.
 */
export function assembleDocument(
  document: OpenApiSource,
  { unrepresentable = 'throw', names = new Map() }: AssembleOptions = {},
): OpenApiDocument {
  const met: Record<Form, Met> = { input: new Map(), output: new Map() };
  walk(document, (schema, form, place) => {
    met[form].set(schema, place);
    return {};
  });
  const metadata = new NamedSchemas(names);
  const sent = convert(met.input, { io: 'input', metadata });
  const answered = convert(met.output, {
    io: 'output',
    metadata,
    unrepresentable,
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  const apart = differentForms(sent.definitions, answered.definitions);
  const sentName = (id: string): string => (apart.has(id) ? `${id}Input` : id);
  const forms: Record<Form, ReadonlyMap<z.ZodType, JsonSchema>> = {
    input: renameAll(sent.schemas, sentName),
    output: renameAll(answered.schemas, (id) => id),
  };
  const named = [
    ...Object.entries(sent.definitions).map(([id, each]) => [sentName(id), rename(each, sentName)] as const),
    ...Object.entries(answered.definitions).map(([id, each]) => [id, rename(each, (name) => name)] as const),
  ].sort(([left], [right]) => (left < right ? -1 : 1));
  const whole = walk(document, (schema, form) => forms[form].get(schema) ?? {}) as OpenApiSource;
  const components = withoutUnused(whole.components, whole.paths);
  return { ...whole, components: { ...components, schemas: Object.fromEntries(named) } };
}

/** The metadata that schemas have of themselves, and ids for some that have none. */
class NamedSchemas extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  readonly #names: ReadonlyMap<z.core.$ZodType, string>;

  constructor(names: ReadonlyMap<z.core.$ZodType, string>) {
    super();
    this.#names = names;
  }

  override get<S extends z.core.$ZodType>(schema: S) {
    const own = z.globalRegistry.get(schema);
    const id = this.#names.get(schema);
    return id === undefined || own?.id !== undefined ? own : { ...own, id };
  }
}

type Form = 'input' | 'output';
/** Schema → where it was met first, to name it in an error. */
type Met = Map<z.ZodType, string>;

/** A copy in which every schema is replaced; a description that a parameter's schema has becomes the parameter's. */
function walk(
  document: unknown,
  replace: (schema: z.ZodType, form: Form, place: string) => JsonSchema,
): unknown {
  const visit = (value: unknown, form: Form, place: string): unknown => {
    if (value instanceof z.ZodType) return replace(value, form, place);
    if (Array.isArray(value)) return value.map((each) => visit(each, form, place));
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).map(([name, member]) => [
      name,
      visit(
        member,
        name === 'responses' ? 'output' : form,
        place === '' && name === 'paths' ? '' : `${place} ${name}`,
      ),
    ]);
    return 'in' in value && 'schema' in value && value.schema instanceof z.ZodType
      ? withDescription(Object.fromEntries(members))
      : Object.fromEntries(members);
  };
  return visit(document, 'input', '');
}

function withDescription({ schema, ...parameter }: Part): Part {
  if (typeof schema !== 'object' || schema === null) return parameter;
  const { description, ...rest } = schema as JsonSchema;
  return { ...parameter, ...(description === undefined ? {} : { description }), schema: rest };
}

interface Converted {
  readonly schemas: ReadonlyMap<z.ZodType, JsonSchema>;
  readonly definitions: Readonly<Record<string, JsonSchema>>;
}

/** All schemas in one conversion, so that what they share is written once. */
function convert(met: Met, options: z.core.ToJSONSchemaParams): Converted {
  const schemas = [...met.keys()];
  const root = z.object(Object.fromEntries(schemas.map((schema, index) => [`part${index}`, schema])));
  try {
    const { properties = {}, $defs = {} } = z.toJSONSchema(root, options);
    const parts = schemas.map((schema, index) => [schema, properties[`part${index}`] as JsonSchema] as const);
    return { schemas: new Map(parts), definitions: $defs as Record<string, JsonSchema> };
  } catch (cause) {
    throw faultOf(met, options, cause);
  }
}

function faultOf(met: Met, options: z.core.ToJSONSchemaParams, cause: unknown): TypeError {
  for (const [schema, place] of met) {
    try {
      z.toJSONSchema(schema, options);
    } catch (fault) {
      return new TypeError(`A schema of${place} cannot be described as JSON`, { cause: fault });
    }
  }
  return new TypeError('The schemas cannot be described as JSON together', { cause });
}

/** The ids whose form as it is sent is not the one that is answered: by themselves, or through one they refer to. */
function differentForms(
  sent: Readonly<Record<string, JsonSchema>>,
  answered: Readonly<Record<string, JsonSchema>>,
): ReadonlySet<string> {
  const inBoth = Object.keys(sent).filter((id) => Object.hasOwn(answered, id));
  const apart = new Set(inBoth.filter((id) => JSON.stringify(sent[id]) !== JSON.stringify(answered[id])));
  for (let before = -1; before !== apart.size; ) {
    before = apart.size;
    for (const id of inBoth) if (referencesOf(sent[id]).some((other) => apart.has(other))) apart.add(id);
  }
  return apart;
}

const DEFINITIONS = '#/$defs/';

function referencesOf(schema: JsonSchema = {}): string[] {
  const ids: string[] = [];
  mapReferences(schema, (reference) => {
    ids.push(reference.slice(DEFINITIONS.length));
    return reference;
  });
  return ids;
}

function renameAll(
  schemas: ReadonlyMap<z.ZodType, JsonSchema>,
  nameOf: (id: string) => string,
): ReadonlyMap<z.ZodType, JsonSchema> {
  return new Map([...schemas].map(([schema, json]) => [schema, rename(json, nameOf)]));
}

function rename({ id: _id, ...schema }: JsonSchema, nameOf: (id: string) => string): JsonSchema {
  return mapReferences(
    schema,
    (reference) => `#/components/schemas/${nameOf(reference.slice(DEFINITIONS.length))}`,
  );
}

/** Keywords whose value is data, in which nothing is a reference. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);
/** Keywords whose members are named by the author: a property may be called `default` or `$ref`. */
const NAMING_KEYWORDS: ReadonlySet<string> = new Set(['properties', 'patternProperties']);

/** A copy of a schema in which every `$ref` was changed. */
function mapReferences<T>(value: T, change: (reference: string) => string, isNaming = false): T {
  if (Array.isArray(value)) return value.map((each) => mapReferences(each, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([keyword, member]) => {
    if (isNaming) return [keyword, mapReferences(member, change)];
    if (DATA_KEYWORDS.has(keyword)) return [keyword, member];
    if (keyword === '$ref' && typeof member === 'string') return [keyword, change(member)];
    return [keyword, mapReferences(member, change, NAMING_KEYWORDS.has(keyword))];
  });
  return Object.fromEntries(members) as T;
}

/** Without what nothing points at. Security schemes stay: they are named instead. */
function withoutUnused(components: OpenApiSource['components'], paths: Part): OpenApiSource['components'] {
  const { responses, parameters, headers } = components;
  const used = (parts: Part, kind: string, by: string): Part =>
    Object.fromEntries(
      Object.entries(parts).filter(([name]) => by.includes(`"#/components/${kind}/${name}"`)),
    );
  const pointing = JSON.stringify(paths);
  const answered = used(responses, 'responses', pointing);
  return {
    ...components,
    responses: answered,
    headers: used(headers, 'headers', `${pointing}${JSON.stringify(answered)}`),
    ...(parameters ? { parameters: used(parameters, 'parameters', pointing) } : {}),
  };
}
