/**
 * A command as data: what it is called, what it takes, what it says about itself and what it does. Nothing here knows
 * how a command line is read or where answers are printed; that is `command-line.ts`.
 */
import { PlatformError } from '@freehold/contracts';
import type { z } from 'zod';

/** What a command may know of the process it runs in. */
export interface World {
  /** The directory that relative paths begin at. */
  readonly cwd: string;
}

/** What a command answers when it succeeded. Failures are thrown as `PlatformError`s with one sentence. */
export interface Outcome {
  /** For machines: what `--json` prints, as one line. */
  readonly value: Readonly<Record<string, unknown>>;
  /** For people. */
  readonly text: string;
}

export interface Example {
  /** The command line, with `freehold`. */
  readonly line: string;
  /** What it does, as a phrase: "in a directory of another name". */
  readonly does: string;
}

interface Described {
  /** The words after `freehold`: a verb, or a noun and a verb. */
  readonly path: readonly [string] | readonly [noun: string, verb: string];
  /** One line for lists of commands, without a full stop. */
  readonly summary: string;
  /** Whole sentences for `--help`. */
  readonly description: string;
  readonly examples: readonly [Example, ...Example[]];
  /** What is given by position. All of it is required. */
  readonly arguments: readonly { readonly name: string; readonly summary: string }[];
  /** What is given by name, in camelCase; `dryRun` is `--dry-run`. All of it is optional and takes a value. */
  readonly options: Readonly<Record<string, { readonly summary: string; readonly placeholder: string }>>;
}

/** Arguments and options by name, as they were typed. */
export type RawInput = Readonly<Record<string, string | undefined>>;

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
      const parsed = input.safeParse(raw);
      if (!parsed.success) throw unusable(described, parsed.error);
      return run(parsed.data, world);
    },
  };
}

/** The sentence about the first value that a schema refused; the rest is in `errors`. */
function unusable({ options }: Described, error: z.ZodError): PlatformError {
  const errors = error.issues.map(({ path, message }) => {
    const field = String(path[0] ?? '');
    return { path: Object.hasOwn(options, field) ? optionName(field) : `<${field}>`, message };
  });
  const [first] = errors;
  return new PlatformError('validation_failed', `${first?.path} cannot be used: it ${first?.message}.`, {
    errors,
  });
}

/** An option as it is typed: `dryRun` → `--dry-run`. */
export function optionName(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
