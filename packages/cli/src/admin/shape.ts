/** What kind of call a declaration is, as far as its command differs. */
import type { AdminOperation } from '@freehold/directory/declarations';
import { z } from 'zod';

/** Whether it answers pages that lead on. */
export function isPaged({ input, output }: AdminOperation): boolean {
  return output instanceof z.ZodObject && 'items' in output.shape && 'cursor' in (input.query?.shape ?? {});
}

/** Whether its body has fields. */
export function takesBody({ input }: AdminOperation): boolean {
  return Object.keys(input.body?.shape ?? {}).length > 0;
}
