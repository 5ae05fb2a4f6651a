/** Operations that answer a list page by page. */
import { z } from 'zod';

/** Whether an operation takes `cursor` among the fields of this schema and answers `nextCursor`. */
export function isList(input: z.ZodType | undefined, output: z.ZodType): boolean {
  return hasField(input, 'cursor') && hasField(output, 'nextCursor');
}

function hasField(schema: z.ZodType | undefined, name: string): boolean {
  return schema instanceof z.ZodObject && Object.hasOwn(schema.shape, name);
}
