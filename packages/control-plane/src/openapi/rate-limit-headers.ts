/** What `http/rate-limit*.ts` adds to answers, as the document lists it. */
import { headerReferences, type Part, PROBLEM_CONTENT, textHeader } from '@freehold/operations/openapi';

/** `components.headers`. */
export const RATE_LIMIT_HEADERS = {
  RateLimit: textHeader(
    'What the caller has left: `r` calls that may follow at once, and `t` seconds until all of them are back. On every answer to a caller who is known; for a stranger, on refusals and where no credential is asked for, counted by network address.',
    '^"calls";r=[0-9]{1,9};t=[0-9]{1,9}$',
  ),
  'RateLimit-Policy': textHeader(
    'How much a caller may: `q` calls in a window of `w` seconds (draft-ietf-httpapi-ratelimit-headers).',
    '^"calls";q=[0-9]{1,9};w=[0-9]{1,9}$',
  ),
} as const satisfies Part;

/** The headers of an answer that was counted. */
export const COUNTED = headerReferences(Object.keys(RATE_LIMIT_HEADERS));

type Problem = { readonly headers: Part; readonly content: Part };

/** Adds the headers to every problem; to a 401, the page that a browser is shown instead. */
export function counted(problems: Part): Part {
  return Object.fromEntries(
    Object.entries(problems as Readonly<Record<string, Problem>>).map(([name, problem]) => {
      const headers = { ...problem.headers, ...COUNTED };
      const content = name === 'Problem401' ? { ...problem.content, ...PAGE } : problem.content;
      return [name, { ...problem, headers, content }];
    }),
  );
}

const PAGE: Part = { 'text/html': { schema: { type: 'string' } } };

/**
 * The addresses of `paths` at which strangers are counted: every answer says where they stand, and a call that is one too
 * many is a page for a browser and a problem for software, unless the address says otherwise.
 */
export function countedPaths<P extends Readonly<Record<string, Readonly<Record<string, Part>>>>>(
  paths: P,
  isCounted: (path: string) => boolean = () => true,
): Record<string, Record<string, Part>> {
  return Object.fromEntries(
    Object.entries(paths).map(([path, methods]) => [
      path,
      isCounted(path) ? mapValues(methods, countedOperation) : methods,
    ]),
  );
}

/** @param content what a refusal is at this address. */
export function tooMany(content: Part = { ...PAGE, ...PROBLEM_CONTENT }): Part {
  const headers = { ...headerReferences(['X-Request-Id', 'Retry-After']), ...COUNTED };
  return { description: 'Too many calls; Retry-After says when to come again.', headers, content };
}

function countedOperation(operation: Part): Part {
  const responses = operation.responses as Readonly<Record<string, Part>>;
  return {
    ...operation,
    responses: { ...mapValues(responses, withHeaders), 429: responses[429] ?? tooMany() },
  };
}

/** A reference leads to a problem, which has them already. */
function withHeaders(response: Part): Part {
  return '$ref' in response
    ? response
    : { ...response, headers: { ...(response.headers as Part), ...COUNTED } };
}

function mapValues(
  parts: Readonly<Record<string, Part>>,
  change: (part: Part) => Part,
): Record<string, Part> {
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, change(part)]));
}
