/** Builds the stricli application of the commands. No other file knows stricli's parser and help. */
import { PlatformError } from '@freehold/contracts';
import {
  type Application,
  ArgumentScannerError,
  buildApplication,
  buildCommand,
  buildRouteMap,
  type CommandContext,
  formatMessageForArgumentScannerError,
  help,
  type Command as Route,
  type RouteMap,
  text_en,
  version,
} from '@stricli/core';
import { type Command, type Option, optionName } from './command.ts';
import type { CommandTable, Terminal } from './command-line.ts';
import { describeFailure } from './failure.ts';
import type { World } from './world.ts';

interface Form {
  readonly asJson: boolean;
}

/** The output, and the world that commands run in. */
interface Place extends Pick<Terminal, 'version' | 'stdout'> {
  readonly world: World;
}

/** @throws TypeError for a noun without a description: a bug of the table. */
export function makeApplication(
  { commands, nouns }: CommandTable,
  place: Place,
  form: Form,
): Application<CommandContext> {
  const routes: Record<string, Route<CommandContext> | RouteMap<CommandContext>> = {};
  for (const [word, group] of Map.groupBy(commands, ({ path }) => path[0])) {
    const alone = group.find(({ path }) => path.length === 1);
    routes[word] = alone
      ? makeRoute(alone, place, form)
      : buildRouteMap({
          routes: Object.fromEntries(
            group.map((each) => [each.path[1] as string, makeRoute(each, place, form)]),
          ),
          docs: { brief: aboutOf(nouns, word) },
        });
  }
  let isTold = false;
  const say = (error: unknown): string => {
    place.world.progress(null);
    const { sentence, problem } = describeFailure(error);
    return form.asJson ? JSON.stringify(problem) : sentence;
  };
  const root = buildRouteMap({
    routes,
    docs: { brief: 'Freehold: a self-hostable platform for multi-tenant business applications.' },
  });
  return buildApplication(
    root,
    {
      name: 'freehold',
      scanner: { caseStyle: 'allow-kebab-for-camel', allowArgumentEscapeSequence: true },
      // Programs and screen readers read help too; colours would add escape codes.
      documentation: { disableAnsiColor: true },
      localization: {
        text: {
          ...text_en,
          // stricli asks for each missing argument; a failure is one sentence, about the first.
          exceptionWhileParsingArguments: (error) => {
            const sentence = isTold ? '' : say(misreading(error));
            isTold = true;
            return sentence;
          },
          noCommandRegisteredForInput: (word) => say(noSuchCommand(word)),
          exceptionWhileRunningCommand: say,
        },
      },
      determineExitCode: (error) => describeFailure(error).exit,
    },
    {
      help: help({
        brief: 'Print what a command does, what it takes, and examples',
        defaultForRouteMap: true,
        formatting: {
          useAliasInUsageLine: false,
          onlyRequiredInUsageLine: false,
          caseStyle: 'convert-camel-to-kebab',
        },
      }),
      version: version({ brief: 'Print the version', info: { currentVersion: place.version } }),
    },
  );
}

type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

function makeRoute(declared: Command, { stdout, world }: Place, { asJson }: Form): Route<CommandContext> {
  const { summary, description, examples } = declared;
  const options = Object.entries(declared.options).map(([name, option]) => [name, flagOf(option)]);
  const shown = examples.map(({ line, does }) => `  ${line}\n    ${does}`).join('\n');
  return buildCommand<Flags, string[], CommandContext>({
    docs: { brief: summary, fullDescription: `${description}\n\nEXAMPLES\n${shown}` },
    parameters: {
      flags: { ...Object.fromEntries(options), json: JSON_FLAG },
      // stricli reads `--` and one letter as an argument: command-line.ts turns it into the alias.
      aliases: Object.fromEntries(lettersOf(declared).map((letter) => [letter, letter])),
      positional: {
        kind: 'tuple',
        parameters: declared.arguments.map(({ name, summary: brief, optional = false }) => ({
          placeholder: name,
          brief,
          parse: asTyped,
          optional,
        })),
        // stricli derives the number of arguments from types; our commands are data.
      } as never,
    },
    async func({ json: _json, ...given }, ...values) {
      const named = declared.arguments.map(({ name }, index) => [name, values[index]]);
      const outcome = await declared.run({ ...given, ...Object.fromEntries(named) }, world);
      const { value, text, until, exitStatus } = outcome;
      world.progress(null);
      if (!asJson && text !== '') stdout.write(`${text}\n`);
      if (asJson && value !== undefined) stdout.write(`${JSON.stringify(value)}\n`);
      await until;
      if (exitStatus) throw exitStatus;
    },
  });
}

/** Returns the options of one letter. */
function lettersOf({ options }: Command): string[] {
  return Object.keys(options).filter((name) => name.length === 1);
}

/** All options are optional to stricli: the command itself names a missing one. */
function flagOf({ kind = 'value', summary, placeholder, values, required }: Option): object {
  const words = [summary, values && `(${values.join(', ')})`, required && '(required)'];
  const brief = words.filter(Boolean).join(' ');
  if (kind === 'flag') return { kind: 'boolean', brief, optional: true, withNegated: false };
  if (kind === 'choice') return { kind: 'boolean', brief, optional: true, withNegated: true };
  const list = kind === 'list' ? { variadic: true } : {};
  return {
    kind: 'parsed',
    parse: asTyped,
    brief,
    placeholder: placeholder ?? 'value',
    optional: true,
    ...list,
  };
}

const JSON_FLAG = {
  kind: 'boolean',
  brief: 'Print the answer as one line of JSON, and a failure as a problem document',
  default: false,
  withNegated: false,
} as const;

/** The command's own schema judges values. */
const asTyped = (input: string): string => input;

function aboutOf(nouns: CommandTable['nouns'], noun: string): string {
  const about = nouns[noun];
  if (about === undefined) throw new TypeError(`the noun ${noun} is not described`);
  return about;
}

/** Turns an error of stricli's parser into a failure in one sentence; returns any other error unchanged. */
function misreading(error: unknown): unknown {
  if (!(error instanceof ArgumentScannerError)) return error;
  return unreadable(
    formatMessageForArgumentScannerError(error, {
      UnsatisfiedPositionalError: ({ placeholder }) => `<${placeholder}> is missing.`,
      UnexpectedPositionalError: ({ input }) => `"${input}" is one argument too many.`,
      FlagNotFoundError: ({ input, corrections }) =>
        `There is no option --${input}${suggestion(corrections.map(optionName))}`,
      AliasNotFoundError: ({ input }) => `There is no option -${input}.`,
      UnsatisfiedFlagError: ({ externalFlagName }) => `${optionName(externalFlagName)} needs a value.`,
      UnexpectedFlagError: ({ externalFlagName }) => `${optionName(externalFlagName)} is given twice.`,
      ArgumentParseError: ({ externalFlagNameOrPlaceholder: name, input }) =>
        `${optionName(name)} does not take the value "${input}".`,
    }),
  );
}

/** @param corrections similar words that exist, in backticks. */
function noSuchCommand({
  input,
  corrections,
}: {
  readonly input: string;
  readonly corrections: readonly string[];
}): PlatformError {
  return unreadable(
    input.startsWith('-')
      ? `There is no option ${input} here.`
      : `There is no command "${input}"${suggestion(corrections)}`,
  );
}

function suggestion([first]: readonly string[]): string {
  return first === undefined ? '.' : `; did you mean ${first.replaceAll('`', '')}?`;
}

function unreadable(sentence: string): PlatformError {
  return new PlatformError('validation_failed', sentence);
}
