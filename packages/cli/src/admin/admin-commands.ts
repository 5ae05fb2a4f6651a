/** Makes a command of every admin operation from its declaration. */

import { resolve } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { type AdminOperation, adminOperations } from '@freehold/directory/declarations';
import {
  type Argument,
  type Command,
  type Example,
  kebab,
  type Option,
  optionName,
  requireOptions,
} from '../lib/command.ts';
import { requireFree } from '../output/save.ts';
import { callerOf, PROFILE_OPTION, requireTarget } from '../settings/target.ts';
import { deployCommand } from './deploy-command.ts';
import { type Field, fieldsOf, isPaged, optionOf, takesBody } from './fields.ts';
import { perform } from './perform.ts';
import { readInput } from './read-input.ts';
import { sampleWords } from './samples.ts';
import { slugsIn, withIds, withPlaceholders } from './slugs.ts';

/** These commands know more than their declaration says. */
const OWN: readonly Command[] = [deployCommand];

/** Returns the commands in the order of the declarations. */
export function adminCommands(): readonly Command[] {
  return Object.values(adminOperations).map(
    (operation) => OWN.find(({ path }) => path.join('.') === operation.name) ?? adminCommand(operation),
  );
}

/** `tenants.set-status` → `freehold tenants set-status <tenant> --status <status>`. */
export function adminCommand(operation: AdminOperation): Command {
  const fields = fieldsOf(operation);
  const [noun, verb] = operation.name.split('.') as [string, string];
  const inPath = fields.filter(({ part }) => part === 'params');
  const named = fields.filter(({ part }) => part !== 'params');
  const options: Readonly<Record<string, Option>> = {
    ...Object.fromEntries(named.map((field) => [field.name, optionOf(field)])),
    ...commonOptions(operation),
    ...PROFILE_OPTION,
  };
  const described = {
    path: [noun, verb] as const,
    summary: operation.summary,
    description: descriptionOf(operation),
    examples: examplesOf(operation, fields),
    arguments: inPath.map(argumentOf),
    options,
  };
  return {
    ...described,
    run: async (raw, world) => {
      requireOptions(described, raw);
      const slugs = slugsIn(fields, raw);
      const judged = { fields, described, raw: withPlaceholders(raw, slugs), world };
      const typed = await readInput(operation, judged);
      if (operation.bytes) requirePlace(raw, world);
      const profile = typeof raw.profile === 'string' ? raw.profile : undefined;
      const call = callerOf(requireTarget(world, profile), world);
      const input = await withIds(typed, { slugs, raw, call });
      return perform({ operation, input, raw, call, world });
    },
  };
}

function argumentOf({ name, summary, values }: Field): Argument {
  return { name: kebab(name), summary, ...(values ? { values } : {}) };
}

/** Returns the options that follow from the kind of the operation, beside its fields. */
function commonOptions(operation: AdminOperation): Record<string, Option> {
  const { method, etag, audit, success, bytes, upload } = operation;
  const isUnsafe = method !== 'GET';
  return {
    ...(takesBody(operation)
      ? { body: { summary: 'The whole body at once; options beside it win', placeholder: 'json|@file|-' } }
      : {}),
    ...(upload
      ? {
          file: { summary: 'What to send', placeholder: 'file', required: true },
          mediaType: {
            summary: 'What it is; the default is told by its first bytes',
            values: upload.mediaTypes,
          },
        }
      : {}),
    ...(bytes
      ? {
          out: {
            summary: 'The file to write; without it standard output, unless that is a terminal',
            placeholder: 'file',
          },
          force: { kind: 'flag', summary: 'Replace the file if there is one' },
        }
      : {}),
    ...(isPaged(operation) ? { all: { kind: 'flag', summary: 'List every page, as one list' } } : {}),
    ...(success === 202
      ? { noWait: { kind: 'flag', summary: 'Begin the work, and do not wait for its end' } }
      : {}),
    ...(etag && isUnsafe
      ? { ifMatch: { summary: 'Only if this is still the version', placeholder: 'version' } }
      : {}),
    ...(isUnsafe && audit === 'audit'
      ? { idempotencyKey: { summary: 'Calls with the same key are one call', placeholder: 'key' } }
      : {}),
  };
}

function descriptionOf({ summary, description, success, bytes, method, path }: AdminOperation): string {
  return [
    `${summary}.`,
    ...(description === undefined ? [] : [description]),
    ...(success === 202
      ? [
          'Waits for the end of the work, and prints its result; --json prints its record. Ctrl-C ends the waiting alone.',
        ]
      : []),
    ...(bytes ? ['The bytes go to --out, or into a pipe.'] : []),
    `Asks ${method} ${path}.`,
  ].join('\n');
}

/** Shows all required fields, and in a second line the option that is particular to this kind. */
function examplesOf(operation: AdminOperation, fields: readonly Field[]): readonly [Example, ...Example[]] {
  const words = fields.flatMap((field) => {
    if (!field.isRequired) return [];
    const sample = sampleWords(operation.name, field);
    if (field.part === 'params') return [sample];
    return field.reading === 'boolean' ? [optionName(field.name)] : [optionName(field.name), sample];
  });
  const extra = EXTRA_WORDS[operation.name] ?? [];
  const more = [
    ...(operation.bytes ? ['--out copy.sqlite'] : []),
    ...(operation.upload ? ['--file copy.sqlite'] : []),
  ];
  const line = ['freehold', ...operation.name.split('.'), ...words, ...extra, ...more].join(' ');
  const first = { line, does: phrase(operation.summary) };
  const second = secondExample(operation, line);
  return second === null ? [first] : [first, second];
}

/** Operations that need one of several options: the schema alone does not say which. */
const EXTRA_WORDS: Readonly<Record<string, readonly string[]>> = {
  'scopes.rewind': ['--bookmark', 'bm_1'],
  'scope-version.set': ['--version', '1.4.0'],
  'channels.promote': ['--version', '1.4.0'],
};

function secondExample(operation: AdminOperation, line: string): Example | null {
  if (isPaged(operation))
    return { line: `${line} --all --json`, does: 'every page, for a program that reads them' };
  if (operation.plan) return { line: `${line} --dry-run`, does: 'only says what it would touch' };
  if (operation.success === 202) return { line: `${line} --no-wait`, does: 'does not wait for the end' };
  if (operation.bytes || operation.success === 204) return null;
  return { line: `${line} --json`, does: 'for a program that reads the answer' };
}

/** `List tenants` → `list tenants`. */
function phrase(summary: string): string {
  return summary.charAt(0).toLowerCase() + summary.slice(1);
}

/** Refuses an unusable place for the bytes before the call: the access log would record a copy that went nowhere. */
function requirePlace(
  { out, force }: Parameters<Command['run']>[0],
  { output, cwd }: Parameters<Command['run']>[1],
): void {
  if (typeof out === 'string') requireFree(resolve(cwd, out), force === true);
  else if (output.isTerminal)
    throw new PlatformError(
      'validation_failed',
      '--out is missing: these are bytes, which a terminal cannot show.',
    );
}
