/** Turns typed words into the input of a call, and judges it by the declared schemas before anything is sent. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { IN_WORDS, PlatformError } from '@freehold/contracts';
import type { AdminOperation } from '@freehold/directory/declarations';
import type { z } from 'zod';
import { type Command, optionName, type RawInput, unusable } from '../lib/command.ts';
import { fileFailure, type World } from '../lib/world.ts';
import type { Field } from './fields.ts';

export interface CallParts {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: Readonly<Record<string, unknown>>;
}

type Described = Pick<Command, 'options'>;

/**
 * Reads and judges the input. Sends only what was typed: the control plane fills in the defaults.
 * @throws PlatformError `validation_failed` that names the argument or option.
 */
export async function readInput(
  { input }: AdminOperation,
  {
    fields,
    described,
    raw,
    world,
  }: {
    readonly fields: readonly Field[];
    readonly described: Described;
    readonly raw: RawInput;
    readonly world: World;
  },
): Promise<CallParts> {
  const body = typeof raw.body === 'string' ? await readBody(raw.body, world) : {};
  const parts: Record<Field['part'], Record<string, unknown>> = { params: {}, query: {}, body };
  for (const field of fields) {
    const value = await readField(field, raw[field.name], world);
    if (value !== undefined) parts[field.part][field.name] = value;
  }
  for (const part of ['params', 'query', 'body'] as const) judge(input[part], parts[part], described);
  return {
    ...(input.params ? { params: parts.params } : {}),
    ...(input.query ? { query: parts.query } : {}),
    ...(input.body ? { body: parts.body } : {}),
  };
}

function judge(schema: z.ZodObject | undefined, value: unknown, described: Described): void {
  const parsed = schema?.safeParse(value, IN_WORDS);
  if (!parsed || parsed.success) return;
  const missing = parsed.error.issues.find(
    ({ path, code }) =>
      path.length === 1 && code !== 'custom' && (value as never)[String(path[0])] === undefined,
  );
  const field = String(missing?.path[0]);
  if (missing && Object.hasOwn(described.options, field))
    throw new PlatformError('validation_failed', `${optionName(field)} is missing.`, {
      errors: [{ path: optionName(field), message: 'is missing' }],
    });
  throw unusable(described, parsed.error);
}

async function readField(field: Field, given: RawInput[string], world: World): Promise<unknown> {
  if (given === undefined || typeof given === 'boolean') return given;
  if (typeof given === 'string') return readValue(field, given, world);
  if (given.length === 0) return undefined;
  const values: unknown[] = [];
  for (const each of given) values.push(await readValue(field, each, world));
  // One file, or one text, may hold the whole list.
  return values.length === 1 && Array.isArray(values[0]) ? values[0] : values;
}

async function readValue(
  { name, part, reading, isNullable }: Field,
  text: string,
  world: World,
): Promise<unknown> {
  const shown = part === 'params' ? `<${name}>` : optionName(name);
  if (isNullable && text === 'null') return null;
  switch (reading) {
    case 'text':
    case 'boolean':
      return text;
    case 'text-or-file':
      return contents(text, shown, world);
    case 'number':
      // Text that is no number stays as it is, and the schema refuses it.
      return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
    case 'secret':
      if (text !== '-' && !text.startsWith('@'))
        throw unfit(
          shown,
          'must be @ and a file, or - for standard input: other programs can read a command line',
        );
      return (await contents(text, shown, world)).replace(/\r?\n$/, '');
    case 'json-or-text':
      return jsonOr(text.startsWith('@') ? await contents(text, shown, world) : text, (raw) => raw);
    case 'json':
      return jsonOr(await contents(text, shown, world), () => {
        throw unfit(shown, 'must be JSON, @ and a file with JSON, or - for standard input');
      });
  }
}

/** Reads a whole body: JSON, `@file`, or `-` for standard input. Options win over its fields. */
async function readBody(text: string, world: World): Promise<Record<string, unknown>> {
  const body = jsonOr(await contents(text, '--body', world), () => undefined);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw unfit('--body', 'must be a JSON object, @ and a file with one, or - for standard input');
  return { ...body };
}

/** Returns the text itself, that of the file after `@`, or with `-` standard input. */
export async function contents(text: string, shown: string, { cwd, readStdin }: World): Promise<string> {
  if (text === '-') return readStdin();
  if (!text.startsWith('@')) return text;
  try {
    return readFileSync(resolve(cwd, text.slice(1)), 'utf8');
  } catch (cause) {
    throw fileFailure(`${text.slice(1)}, which ${shown} names, cannot be read`, cause);
  }
}

function jsonOr(text: string, otherwise: (text: string) => unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise(text);
  }
}

function unfit(shown: string, why: string): PlatformError {
  return new PlatformError('validation_failed', `${shown} cannot be used: it ${why}.`, {
    errors: [{ path: shown, message: why }],
  });
}
