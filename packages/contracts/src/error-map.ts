/** The texts of faults in an input. They follow the name of a field: `name: is missing`. */
import type { z } from 'zod';

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const FORMATS: Readonly<Record<string, string>> = {
  email: 'an e-mail address',
  url: 'a URL',
  datetime: 'a time such as 2026-11-21T08:00:00.000Z',
  date: 'a date such as 2026-11-21',
};

/** The counted things, singular and plural. */
const COUNTED: Readonly<Record<string, readonly [string, string]>> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
  set: ['item', 'items'],
  map: ['entry', 'entries'],
  object: ['field', 'fields'],
};

/** The error map of zod for issues without a text in their schema; undefined leaves it to zod. No text holds the input. */
function messageOfIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : must(`be ${KINDS[issue.expected] ?? issue.expected}`);
    case 'invalid_value':
      return issue.input === undefined ? 'is missing' : must(`be ${choiceOf(issue.values)}`);
    case 'too_small':
      return sizeWords(issue, issue.minimum, issue.inclusive === false ? 'more than' : 'at least');
    case 'too_big':
      return sizeWords(issue, issue.maximum, issue.inclusive === false ? 'less than' : 'at most');
    case 'invalid_format':
      return Object.hasOwn(FORMATS, issue.format) ? must(`be ${FORMATS[issue.format]}`) : undefined;
    case 'unrecognized_keys':
      return `has no ${issue.keys.length === 1 ? 'field' : 'fields'} ${issue.keys.join(', ')}`;
    case 'invalid_union':
      return issue.input === undefined ? 'is missing' : undefined;
    default:
      return undefined;
  }
}

/** The option for parsing input with these texts: `schema.safeParse(value, IN_WORDS)`. */
export const IN_WORDS = { error: messageOfIssue };

function must(words: string): string {
  return `must ${words}`;
}

function choiceOf(values: readonly unknown[]): string {
  const named = values.map(String);
  return named.length === 1 ? (named[0] as string) : `one of ${named.join(', ')}`;
}

function sizeWords(
  { origin }: { readonly origin?: string },
  limit: number | bigint,
  relation: string,
): string {
  const counted = COUNTED[origin ?? ''];
  if (!counted) return must(`be ${relation} ${limit}`);
  return must(`have ${relation} ${limit} ${counted[Number(limit) === 1 ? 0 : 1]}`);
}
