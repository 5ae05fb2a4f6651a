/** Origins as people write them, made into what browsers send: for the list that `allowedOrigins` is read from. */
import { z } from 'zod';
import { isOrigin, ORIGIN_LENGTH_MAX } from './cors.ts';

/**
 * The origin of a web site, for an operation's input: `https://Shop.example/` becomes `https://shop.example`, and
 * `https://münchen.example` the ASCII form that browsers send. Refuses patterns, paths, user names, and whatever is
 * neither http nor https. It changes what it reads, and so has no JSON Schema as an output: give outputs `z.string()`.
 */
export const webOrigin: z.ZodType<string, string> = z
  .string()
  .max(ORIGIN_LENGTH_MAX)
  .transform((text, issues) => {
    const origin = originOf(text.trim());
    if (origin !== null) return origin;
    issues.addIssue({
      code: 'custom',
      message: 'must be the address of a site, such as https://shop.example',
    });
    return z.NEVER;
  });

/** Null for what is no origin and nothing else. The parser lets stars into host names: nobody's page is at one. */
function originOf(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { href, origin, protocol } = new URL(text);
  const isSite = ['https:', 'http:'].includes(protocol) && isOrigin(origin);
  return isSite && href === `${origin}/` ? origin : null;
}
