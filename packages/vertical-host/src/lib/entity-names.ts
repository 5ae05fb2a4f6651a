/** Names for the schemas of a vertical's entities, where its declarations give none: `order/get` answers an `Order`. */
import { z } from 'zod';
import type { OperationRoute } from './operation-routes.ts';

/**
 * Returns the name of each schema. The output of `<noun>/get` is the noun, and so are the items of `<noun>/list` where
 * they are the same or there is no `get`; other items are `<Noun>Summary`. An id of the schema itself (`.meta({ id })`)
 * wins over these.
 */
export function entityNames(routes: readonly OperationRoute[]): ReadonlyMap<z.ZodType, string> {
  const outputs = new Map(routes.map(({ name, operation }) => [name, operation.output as z.ZodType]));
  const names = new Map<z.ZodType, string>();
  for (const [operation, output] of outputs) {
    const noun = /^(.+)\/get$/.exec(operation)?.[1];
    if (noun !== undefined && output instanceof z.ZodObject) names.set(output, pascalCase(noun));
  }
  for (const [operation, output] of outputs) {
    const noun = /^(.+)\/list$/.exec(operation)?.[1];
    const item = itemOf(output);
    if (noun === undefined || item === null || names.has(item)) continue;
    names.set(item, outputs.has(`${noun}/get`) ? `${pascalCase(noun)}Summary` : pascalCase(noun));
  }
  return names;
}

/** The schema of a page's items. */
function itemOf(output: z.ZodType): z.ZodObject | null {
  const items: unknown = output instanceof z.ZodObject ? output.shape.items : undefined;
  return items instanceof z.ZodArray && items.element instanceof z.ZodObject ? items.element : null;
}

/** `service-area/zone` → `ServiceAreaZone`. */
function pascalCase(noun: string): string {
  return noun.replaceAll(/(?:^|[-/])(\w)/g, (_all, letter: string) => letter.toUpperCase());
}
