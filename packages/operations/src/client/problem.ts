/** The parts of a refusal that have a form we know. */
import { type Problem, problemSchema } from '@freehold/contracts';

/** The problem document of an answer, or null for any other answer. */
export function problemOf(headers: Headers, text: string): Problem | null {
  if (!headers.get('content-type')?.startsWith('application/problem+json')) return null;
  return problemSchema.safeParse(parseJson(text)).data ?? null;
}

/** The value of a JSON text, or undefined, which no declared form accepts. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The version in an `ETag`, without quotes. */
export function versionIn(headers: Headers): string | null {
  return /^(?:W\/)?"(.*)"$/.exec(headers.get('etag') ?? '')?.[1] ?? null;
}
