/**
 * Limits that hold and that a schema does not say by itself: how long a text can be that matches its pattern, and how
 * wide an integer is. Whoever generates code or checks requests by the document is told them too.
 */
import type { JsonSchema } from '@freehold/contracts/http';

/** Keywords whose value is data, in which nothing is a schema. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);
const INT32_MAX = 2 ** 31 - 1;
const INT32_MIN = -(2 ** 31);

/** A copy of a document, or of a part of it, in which every schema says its limits. */
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
 * How many characters a text has at most that matches a pattern as a whole; infinite where there is no end, or where the
 * pattern is not bound to both ends of the text. Of the syntax of ECMA-262, backreferences are not understood.
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

/** Alternatives, as far as the end of their group. At the top each of them has to hold both ends of the text. */
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

/** What matches at the present place, which is then behind it; null when nothing does. */
function take(source: Source, form: RegExp): string | null {
  form.lastIndex = source.at;
  const found = form.exec(source.pattern)?.[0];
  if (found === undefined) return null;
  source.at += found.length;
  return found;
}
