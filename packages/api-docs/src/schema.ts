/** A JSON schema as a person reads it: its type in words, and its fields as a list. */
import { nameOf, type Schema } from './document.ts';
import { Html, html, line } from './html.ts';

/** Deeper fields are left to the document itself: no schema of a person's making goes there. */
const DEPTH_MAX = 8;

/** The type of a value in a few words: `string (date-time)`, `list of Order`, `integer or null`. */
export function typeOf(schema: Schema): Html {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref);
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  const members = schema.anyOf ?? schema.oneOf;
  if (members) return separated(members.map(typeOf), ' or ');
  if (schema.allOf) return separated(schema.allOf.map(typeOf), ' and ');
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum)
    return separated(
      schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`),
      ', ',
    );
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  if (types.length === 0) return html`any value`;
  return separated(
    types.map((type) => plainType(type, schema)),
    ' or ',
  );
}

function plainType(type: string, schema: Schema): Html {
  if (type === 'array') return schema.items ? html`list of ${typeOf(schema.items)}` : html`list`;
  if (type === 'object' && typeof schema.additionalProperties === 'object' && !schema.properties)
    return html`object of ${typeOf(schema.additionalProperties)}`;
  return schema.format === undefined || type === 'null' ? html`${type}` : html`${type} (${schema.format})`;
}

/** The fields of a schema; null where it has none of its own. A named schema has its own place, and is referred to. */
export function fieldsOf(schema: Schema, depth = 0): Html | null {
  if (schema.$ref !== undefined || depth > DEPTH_MAX) return null;
  const members = (schema.anyOf ?? schema.oneOf ?? schema.allOf ?? []).filter(hasFields);
  if (members.length > 0) return html`${members.map((each) => fieldsOf(each, depth + 1))}`;
  if (schema.items) return fieldsOf(schema.items, depth + 1);
  const extra = schema.additionalProperties;
  if (!schema.properties) return typeof extra === 'object' ? fieldsOf(extra, depth + 1) : null;
  const fields = Object.entries(schema.properties).map(([name, field]) =>
    fieldItem({ name, schema: field, required: schema.required?.includes(name) ?? false }, depth),
  );
  return fields.length === 0 ? null : html`<ul class="fields">${fields}</ul>`;
}

function hasFields(schema: Schema): boolean {
  return fieldsOf(schema) !== null;
}

export interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly required: boolean;
  readonly description?: string | undefined;
}

/** One field: name, type, whether it is required, limits, meaning, and the fields below it. */
export function fieldItem({ name, schema, required, description }: Field, depth = 0): Html {
  const meaning = description ?? schema.description;
  return html`<li><code>${name}</code> <span class="type">${typeOf(schema)}</span>${required ? html` <span class="must">required</span>` : null}${limitsOf(schema)}${meaning === undefined ? null : html`<p>${line(meaning)}</p>`}${fieldsOf(schema, depth + 1)}</li>`;
}

/** Limits and the default. Patterns are left to the document: few people read them. */
function limitsOf(schema: Schema): Html | null {
  const limits = [
    rangeOf(schema.minimum, schema.maximum, ''),
    rangeOf(schema.minLength, schema.maxLength, ' characters'),
    rangeOf(schema.minItems, schema.maxItems, ' items'),
    schema.default === undefined ? null : `default ${JSON.stringify(schema.default)}`,
  ].filter((each) => each !== null);
  return limits.length === 0 ? null : html` <span class="limits">${limits.join(', ')}</span>`;
}

/** The bounds of `z.int()`, which are no limit that a caller meets. */
function isBound(limit: number | undefined): limit is number {
  return limit !== undefined && Math.abs(limit) < Number.MAX_SAFE_INTEGER;
}

function rangeOf(least: number | undefined, most: number | undefined, unit: string): string | null {
  if (isBound(least) && isBound(most)) return `${least} to ${most}${unit}`;
  if (isBound(most)) return `at most ${most}${unit}`;
  return isBound(least) ? `at least ${least}${unit}` : null;
}

function separated(parts: readonly Html[], separator: string): Html {
  return new Html(parts.map(({ text }) => text).join(separator));
}
