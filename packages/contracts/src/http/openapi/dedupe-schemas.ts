/** Request forms that equal their answer forms lose their second name, so that a reader meets each thing once. */
import type { JsonSchema } from '../input-shape.ts';
import { COMPONENTS, mapReferences, REQUEST_FORM } from './schemas.ts';

type WithSchemas = { readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> } };

/** The document with every needless `…Input` merged into the plain name, and its named schemas in order. */
export function dedupeSchemas<Document extends WithSchemas>(document: Document): Document {
  const { schemas } = document.components;
  const merged = needlessNames(schemas);
  const rename = (name: string): string => (merged.has(name) ? plainName(name) : name);
  const renamed = mapReferences(document, (reference) =>
    reference.startsWith(COMPONENTS)
      ? `${COMPONENTS}${rename(reference.slice(COMPONENTS.length))}`
      : reference,
  );
  const entries = Object.entries(renamed.components.schemas)
    .map(([name, schema]) => [rename(name), schema] as const)
    .sort(([left], [right]) => (left < right ? -1 : 1));
  return { ...renamed, components: { ...renamed.components, schemas: Object.fromEntries(entries) } };
}

/** The request forms that can take the plain name. */
function needlessNames(schemas: Readonly<Record<string, JsonSchema>>): ReadonlySet<string> {
  const requestForms = Object.keys(schemas).filter((name) => name.endsWith(REQUEST_FORM));
  const same = new Set(requestForms.filter((name) => isAlike(name, schemas)));
  // A form that refers to one that differs differs too, through it. Each round can only take names away.
  for (let before = -1; before !== same.size; ) {
    before = same.size;
    for (const name of same) {
      const hasAnswer = plainName(name) in schemas;
      if (hasAnswer && referencesOf(schemas[name]).some((other) => !same.has(other))) same.delete(name);
    }
  }
  return same;
}

/** Whether a form has no answer form beside it, or one that reads the same when references are not followed. */
function isAlike(name: string, schemas: Readonly<Record<string, JsonSchema>>): boolean {
  const answer = schemas[plainName(name)];
  if (answer === undefined) return true;
  const renamed = mapReferences(schemas[name] ?? {}, plainName);
  return JSON.stringify(renamed) === JSON.stringify(answer);
}

function referencesOf(schema: JsonSchema = {}): string[] {
  const names: string[] = [];
  mapReferences(schema, (reference) => {
    names.push(reference.slice(COMPONENTS.length));
    return reference;
  });
  return names;
}

function plainName(name: string): string {
  return name.endsWith(REQUEST_FORM) ? name.slice(0, -REQUEST_FORM.length) : name;
}
