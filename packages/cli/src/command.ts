/**
 * A command as data: what it is called, what it takes, what it says about itself and what it does. Nothing here knows
 * how a command line is read or where answers are printed; that is `command-line.ts`.
 */
import { IN_WORDS, PlatformError } from '@freehold/contracts';
import type { z } from 'zod';
import type { World } from './world.ts';

/** What a command answers when it succeeded. Failures are thrown, as `PlatformError`s with one sentence. */
export interface Outcome {
  /** For machines: what `--json` prints, as one line. Undefined for an answer that went out as bytes. */
  readonly value: unknown;
  /** For people. Empty prints nothing. */
  readonly text: string;
  /** What goes on after the answer was printed: a window that stays open. */
  readonly until?: Promise<void>;
  /** Bad news in the answer, told behind it: a script learns of it by the exit code. */
  readonly exitStatus?: PlatformError | undefined;
}

export interface Example {
  /** The command line, with `freehold`. */
  readonly line: string;
  /** What it does, as a phrase: "in a directory of another name". */
  readonly does: string;
}

/** Something given by name. */
export interface Option {
  readonly summary: string;
  /**
   * `value` takes one, `list` takes one each time it is given, `flag` takes none, `choice` is a flag that can also be
   * given as `--no-…`. Default: `value`.
   */
  readonly kind?: 'value' | 'list' | 'flag' | 'choice';
  /** What stands for the value in help. */
  readonly placeholder?: string;
  /** The values there are, for help and completion. The command's schema is what judges. */
  readonly values?: readonly string[];
  /** Whether it must be given. */
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
  /** What is given by position. What is optional stands last. */
  readonly arguments: readonly Argument[];
  /** What is given by name, in camelCase; `dryRun` is `--dry-run`. */
  readonly options: Readonly<Record<string, Option>>;
}

export interface Argument {
  readonly name: string;
  readonly summary: string;
  readonly optional?: boolean;
  readonly values?: readonly string[];
}

/** Arguments and options by name, as they were typed. */
export type RawInput = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** A command, ready to be given to an engine. */
export interface Command extends Described {
  /** @throws PlatformError `validation_failed` for a value that cannot be used, and whatever the command refuses. */
  run(raw: RawInput, world: World): Promise<Outcome>;
}

export interface CommandDeclaration<S extends z.ZodType> extends Described {
  /** Judges arguments and options together. A message completes the sentence "<name> cannot be used: it …". */
  readonly input: S;
  readonly run: (input: z.output<S>, world: World) => Promise<Outcome> | Outcome;
}

/** Gives a declaration its exact types, and puts its schema in front of its function. */
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

/** @throws PlatformError `validation_failed` naming the first option that must be given and is not. */
export function requireOptions({ options }: Pick<Described, 'options'>, raw: RawInput): void {
  for (const [name, { required }] of Object.entries(options)) {
    const given = raw[name];
    if (required && (given === undefined || (Array.isArray(given) && given.length === 0)))
      throw new PlatformError('validation_failed', `${optionName(name)} is missing.`, {
        errors: [{ path: optionName(name), message: 'is missing' }],
      });
  }
}

/** The sentence about the first value that a schema refused; the rest is in `errors`. */
export function unusable({ options }: Pick<Described, 'options'>, error: z.ZodError): PlatformError {
  const errors = error.issues.map(({ path, message }) => {
    const [field = '', ...inside] = path.map(String);
    const name = Object.hasOwn(options, field) ? optionName(field) : `<${field}>`;
    return { path: [name, ...inside].join('.'), message };
  });
  const [first] = errors;
  const message = (first?.message ?? '').replace(/\.$/, '');
  if (message === 'is missing')
    return new PlatformError('validation_failed', `${first?.path} is missing.`, { errors });
  // zod's own sentences stand for themselves; ours complete this one.
  const why = /^[A-Z]/.test(message) ? message : `it ${message}`;
  return new PlatformError('validation_failed', `${first?.path} cannot be used: ${why}.`, { errors });
}

/** An option as it is typed: `dryRun` → `--dry-run`. */
export function optionName(option: string): string {
  return `--${kebab(option)}`;
}

/** `dryRun` → `dry-run`. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
