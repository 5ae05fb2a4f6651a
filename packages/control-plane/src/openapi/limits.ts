/**
 * Limits in the document. Of texts and integers: limits that hold without being in the schema, for generated code and
 * request checks. Of calls: the headers and answers of a rate limit.
 */
import type { JsonSchema } from '@freehold/contracts/http';
import { headerReferences, type Part, PROBLEM_CONTENT, textHeader } from '@freehold/operations/openapi';

/** Keywords whose value is data and no schema. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);
const INT32_MAX = 2 ** 31 - 1;
const INT32_MIN = -(2 ** 31);

/** Copies a document, or a part of it, with the limits in every schema. */
export function withLimits<T>(part: T): T {
  if (Array.isArray(part)) return part.map(withLimits) as T;
  if (typeof part !== 'object' || part === null) return part;
  const members = Object.entries(part).map(([keyword, member]) => [
    keyword,
    DATA_KEYWORDS.has(keyword) ? member : withLimits(member),
  ]);
  const copy: JsonSchema = Object.fromEntries(members);
  return { ...copy, ...limitsOf(copy) } as T;
}

function limitsOf({ type, pattern, maxLength, format, minimum, maximum }: JsonSchema): JsonSchema {
  if (type === 'integer' && format === undefined) {
    const isShort = Number(minimum) >= INT32_MIN && Number(maximum) <= INT32_MAX;
    return { format: isShort ? 'int32' : 'int64' };
  }
  if (type !== 'string' || typeof pattern !== 'string' || maxLength !== undefined) return {};
  const longest = longestMatch(pattern);
  return Number.isFinite(longest) ? { maxLength: longest } : {};
}

/**
 * The length of the longest text that matches a pattern as a whole. Infinite for an unbounded pattern, and for one
 * without anchors at both ends. Of the syntax of ECMA-262, backreferences are not supported.
 * @throws TypeError for a group that is never closed.
 */
export function longestMatch(pattern: string): number {
  const source = { pattern, at: 0 };
  const longest = longestOf(source, true);
  if (source.at < pattern.length) throw new TypeError('a pattern closes a group that it never opened');
  return longest;
}

interface Source {
  readonly pattern: string;
  at: number;
}

/** The alternatives up to the end of their group. At the top each one needs both anchors. */
function longestOf(source: Source, isTop: boolean): number {
  let longest = 0;
  for (;;) {
    const start = source.at;
    const length = sequence(source);
    const text = source.pattern.slice(start, source.at);
    const isBound = text.startsWith('^') && /(?<!\\)(?:\\\\)*\$$/.test(text);
    longest = Math.max(longest, isTop && !isBound ? Number.POSITIVE_INFINITY : length);
    if (source.pattern[source.at] !== '|') return longest;
    source.at += 1;
  }
}

function sequence(source: Source): number {
  let length = 0;
  while (source.at < source.pattern.length && !'|)'.includes(source.pattern[source.at] as string)) {
    const one = atom(source);
    const times = quantifier(source);
    length += one === 0 || times === 0 ? 0 : one * times;
  }
  return length;
}

function atom(source: Source): number {
  if (take(source, /[$^]/y)) return 0;
  const group = take(source, /\((?:\?(?:<?[=!]|:|<\w+>))?/y);
  if (group !== null) {
    const length = longestOf(source, false);
    if (take(source, /\)/y) === null) throw new TypeError('a pattern does not close a group');
    return /[=!]$/.test(group) ? 0 : length;
  }
  if (take(source, /\\[bB]/y)) return 0;
  if (take(source, /\[(?:[^\]\\]|\\.)*\]|\\(?:u[0-9a-f]{4}|[pPu]\{[^}]*\}|x[0-9a-f]{2})/iy)) return 1;
  return take(source, /\\?./sy) ? 1 : 0;
}

function quantifier(source: Source): number {
  const text = take(source, /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y);
  if (text === null || text.startsWith('?')) return 1;
  const [, least, more, most] = /^\{(\d+)(,(\d*))?\}/.exec(text) ?? [];
  if (least === undefined || (more !== undefined && most === '')) return Number.POSITIVE_INFINITY;
  return Number(most ?? least);
}

/** Takes the match at the present place and moves behind it; null without one. */
function take(source: Source, form: RegExp): string | null {
  form.lastIndex = source.at;
  const found = form.exec(source.pattern)?.[0];
  if (found === undefined) return null;
  source.at += found.length;
  return found;
}

/** `components.headers`. */
export const RATE_LIMIT_HEADERS = {
  RateLimit: textHeader(
    'The rest of the caller’s allowance: `r` calls that may follow at once, and `t` seconds until all of them are back. On every answer to a known caller; for an anonymous one, on refusals and where no credential is needed, counted by network address.',
    '^"calls";r=[0-9]{1,9};t=[0-9]{1,9}$',
  ),
  'RateLimit-Policy': textHeader(
    'The caller’s limit: `q` calls in a window of `w` seconds (draft-ietf-httpapi-ratelimit-headers).',
    '^"calls";q=[0-9]{1,9};w=[0-9]{1,9}$',
  ),
} as const satisfies Part;

/** The headers of a counted answer. */
export const COUNTED = headerReferences(Object.keys(RATE_LIMIT_HEADERS));

type Problem = { readonly headers: Part; readonly content: Part };

/** Adds the headers to every problem. The page that a browser gets with a 401 is no answer of the API. */
export function counted(problems: Part): Part {
  return Object.fromEntries(
    Object.entries(problems as Readonly<Record<string, Problem>>).map(([name, problem]) => {
      const headers = { ...problem.headers, ...COUNTED };
      return [name, { ...problem, headers }];
    }),
  );
}

const PAGE: Part = { 'text/html': { schema: { type: 'string' } } };

/**
 * Adds to `paths` the counting of anonymous senders: the headers in every answer, and a refusal that is a page for a
 * browser and a problem for software, unless the address declares another.
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

/** @param content the form of the refusal at this address. */
export function tooMany(content: Part = { ...PAGE, ...PROBLEM_CONTENT }): Part {
  const headers = { ...headerReferences(['X-Request-Id', 'Retry-After']), ...COUNTED };
  return { description: 'Too many calls; Retry-After says when to try again.', headers, content };
}

function countedOperation(operation: Part): Part {
  const responses = operation.responses as Readonly<Record<string, Part>>;
  return {
    ...operation,
    responses: { ...mapValues(responses, withHeaders), 429: responses[429] ?? tooMany() },
  };
}

/** A reference leads to a problem, which has the headers already. */
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
