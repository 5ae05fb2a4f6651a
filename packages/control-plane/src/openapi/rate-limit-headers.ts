/** The headers of `http/rate-limit.ts` as the document lists them. */
import { headerReferences, type Part, textHeader } from '@freehold/contracts/http';

/** `components.headers`. */
export const RATE_LIMIT_HEADERS = {
  RateLimit: textHeader(
    'What the caller has left: `r` calls that may follow at once, and `t` seconds until all of them are back. On every answer to a caller who is known.',
    '^"calls";r=[0-9]{1,9};t=[0-9]{1,9}$',
  ),
  'RateLimit-Policy': textHeader(
    'How much a caller may: `q` calls in a window of `w` seconds (draft-ietf-httpapi-ratelimit-headers).',
    '^"calls";q=[0-9]{1,9};w=[0-9]{1,9}$',
  ),
} as const satisfies Part;

/** The headers of an answer to a caller who is known. */
export const COUNTED = headerReferences(Object.keys(RATE_LIMIT_HEADERS));

/** Adds the headers to every refusal of a caller who is known: a stranger is not counted. */
export function counted(problems: Part): Part {
  return Object.fromEntries(
    Object.entries(problems as Readonly<Record<string, { readonly headers: Part }>>).map(
      ([name, problem]) => [
        name,
        name === 'Problem401' ? problem : { ...problem, headers: { ...problem.headers, ...COUNTED } },
      ],
    ),
  );
}
