/**
 * A command as data: names, arguments, options, help and function. `command-line.ts` reads lines and prints answers.
 */
import { IN_WORDS, PlatformError } from '@freehold/contracts';
import type { z } from 'zod';
import type { World } from './world.ts';

/** The answer of a successful command. A command throws `PlatformError`s with one sentence for failures. */
export interface Outcome {
  /** `--json` prints it as one line. Undefined for an answer that went out as bytes. */
  readonly value: unknown;
  /** The text for people. Empty prints nothing. */
  readonly text: string;
  /** Work that goes on after the answer is printed, such as an open window. */
  readonly until?: Promise<void>;
  /** A defect that the answer reports. It is printed after the answer and sets the exit code. */
  readonly exitStatus?: PlatformError | undefined;
}

export interface Example {
  /** The command line, with `freehold`. */
  readonly line: string;
  /** Its effect, as a phrase: "in a directory of another name". */
  readonly does: string;
}

/** An argument that is given by name. */
export interface Option {
  readonly summary: string;
  /**
   * `value` takes one value, `list` one each time it is given, `flag` none; `choice` is a flag with a `--no-…` form.
   * Default: `value`.
   */
  readonly kind?: 'value' | 'list' | 'flag' | 'choice';
  /** The name of the value in help; completion offers files for one that says `file` or `dir`. */
  readonly placeholder?: string;
  /** The known values, for help and completion. The command's schema judges. */
  readonly values?: readonly string[];
  readonly required?: boolean;
}

interface Described {
  /** The words after `freehold`: a verb, or a noun and a verb. */
  readonly path: readonly [string] | readonly [noun: string, verb: string];
  /** One line for lists of commands, without a full stop. */
  readonly summary: string;
  /** Whole sentences for `--help`. */
  readonly description: string;
  readonly examples: readonly [Example, ...Example[]];
  /** Arguments by position; optional ones stand last. */
  readonly arguments: readonly Argument[];
  /** Arguments by name, in camelCase; `dryRun` is typed `--dry-run`. */
  readonly options: Readonly<Record<string, Option>>;
}

export interface Argument {
  readonly name: string;
  readonly summary: string;
  readonly optional?: boolean;
  readonly values?: readonly string[];
  /** Whether it names a file or a directory: completion offers files for these alone. */
  readonly isFile?: true;
}

/** Arguments and options by name, as they were typed. */
export type RawInput = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Command extends Described {
  /** @throws PlatformError `validation_failed` for a value that cannot be used, and the command's own refusals. */
  run(raw: RawInput, world: World): Promise<Outcome>;
}

export interface CommandDeclaration<S extends z.ZodType> extends Described {
  /** Judges arguments and options together. A message completes the sentence "<name> cannot be used: it …". */
  readonly input: S;
  readonly run: (input: z.output<S>, world: World) => Promise<Outcome> | Outcome;
}

/** Infers the types of a declaration, and validates the input before its function runs. */
export function command<S extends z.ZodType>({ input, run, ...described }: CommandDeclaration<S>): Command {
  return {
    ...described,
    run: async (raw, world) => {
      requireOptions(described, raw);
      const parsed = input.safeParse(raw, IN_WORDS);
      if (!parsed.success) throw unusable(described, parsed.error);
      return run(parsed.data, world);
    },
  };
}

/** @throws PlatformError `validation_failed` that names the first missing required option. */
export function requireOptions({ options }: Pick<Described, 'options'>, raw: RawInput): void {
  for (const [name, { required }] of Object.entries(options)) {
    const given = raw[name];
    if (required && (given === undefined || (Array.isArray(given) && given.length === 0)))
      throw new PlatformError('validation_failed', `${optionName(name)} is missing.`, {
        errors: [{ path: optionName(name), message: 'is missing' }],
      });
  }
}

/** Returns a failure with a sentence about the first refused value, and all of them in `errors`. */
export function unusable({ options }: Pick<Described, 'options'>, error: z.ZodError): PlatformError {
  const errors = error.issues.map(({ path, message }) => {
    const [field = '', ...inside] = path.map(String);
    // A fault of the input as a whole names no value.
    const name = field === '' ? '' : Object.hasOwn(options, field) ? optionName(field) : `<${field}>`;
    return { path: [name, ...inside].join('.'), message };
  });
  const [first] = errors;
  const message = (first?.message ?? '').replace(/\.$/, '');
  if (message === 'is missing')
    return new PlatformError('validation_failed', `${first?.path} is missing.`, { errors });
  if (first?.path === '') return new PlatformError('validation_failed', `${message}.`, { errors });
  // Messages of zod are whole sentences; ours complete this one.
  const why = /^[A-Z]/.test(message) ? message : `it ${message}`;
  return new PlatformError('validation_failed', `${first?.path} cannot be used: ${why}.`, { errors });
}

/** Returns an option as it is typed: `dryRun` → `--dry-run`. */
export function optionName(option: string): string {
  return `--${kebab(option)}`;
}

export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
