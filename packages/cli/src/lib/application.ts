/** The commands as stricli takes them: the one place that knows it, with `misreading.ts`. */
import { PlatformError, toProblem } from '@freehold/contracts';
import {
  type Application,
  buildApplication,
  buildCommand,
  buildRouteMap,
  type CommandContext,
  help,
  type Command as Route,
  type RouteMap,
  text_en,
  version,
} from '@stricli/core';
import type { Command } from '../command.ts';
import type { CommandTable, Terminal } from '../command-line.ts';
import { misreading, noSuchCommand } from './misreading.ts';

interface Form {
  /** Whether answers and failures are JSON. */
  readonly asJson: boolean;
}

/** @throws TypeError for a noun without a description: a bug of the table. */
export function makeApplication(
  { commands, nouns }: CommandTable,
  terminal: Terminal,
  form: Form,
): Application<CommandContext> {
  const routes: Record<string, Route<CommandContext> | RouteMap<CommandContext>> = {};
  for (const [word, group] of Map.groupBy(commands, ({ path }) => path[0])) {
    const alone = group.find(({ path }) => path.length === 1);
    routes[word] = alone
      ? makeRoute(alone, terminal, form)
      : buildRouteMap({
          routes: Object.fromEntries(
            group.map((each) => [each.path[1] as string, makeRoute(each, terminal, form)]),
          ),
          docs: { brief: aboutOf(nouns, word) },
        });
  }
  const say = (error: unknown): string => {
    const shown = toShown(error);
    return form.asJson ? JSON.stringify(toProblem(shown)) : shown.message;
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
      // Help is read by programs and screen readers too, and is clear without colours.
      documentation: { disableAnsiColor: true },
      localization: {
        text: {
          ...text_en,
          exceptionWhileParsingArguments: (error) => say(misreading(error)),
          noCommandRegisteredForInput: (word) => say(noSuchCommand(word)),
          exceptionWhileRunningCommand: say,
        },
      },
      determineExitCode: (error) => (toShown(error).code === 'validation_failed' ? 2 : 1),
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
      version: version({ brief: 'Print the version', info: { currentVersion: terminal.version } }),
    },
  );
}

type Flags = Readonly<Record<string, string | boolean | undefined>>;

function makeRoute(declared: Command, { cwd, stdout }: Terminal, { asJson }: Form): Route<CommandContext> {
  const { summary, description, examples } = declared;
  const options = Object.entries(declared.options).map(([name, { summary: brief, placeholder }]) => [
    name,
    { kind: 'parsed', parse: asTyped, brief, placeholder, optional: true } as const,
  ]);
  const shown = examples.map(({ line, does }) => `  ${line}\n    ${does}`).join('\n');
  return buildCommand<Flags, string[], CommandContext>({
    docs: { brief: summary, fullDescription: `${description}\n\nEXAMPLES\n${shown}` },
    parameters: {
      flags: { ...Object.fromEntries(options), json: JSON_FLAG },
      positional: {
        kind: 'tuple',
        parameters: declared.arguments.map(({ name, summary: brief }) => ({
          placeholder: name,
          brief,
          parse: asTyped,
        })),
        // stricli wants to know how many there are from the types; our commands are data.
      } as never,
    },
    async func({ json: _json, ...given }, ...values) {
      const named = declared.arguments.map(({ name }, index) => [name, values[index]]);
      const { value, text } = await declared.run({ ...given, ...Object.fromEntries(named) }, { cwd });
      stdout.write(`${asJson ? JSON.stringify(value) : text}\n`);
    },
  });
}

const JSON_FLAG = {
  kind: 'boolean',
  brief: 'Print the answer as one line of JSON, and a failure as a problem document',
  default: false,
  withNegated: false,
} as const;

/** Values are judged by the command's own schema. */
const asTyped = (input: string): string => input;

function aboutOf(nouns: CommandTable['nouns'], noun: string): string {
  const about = nouns[noun];
  if (about === undefined) throw new TypeError(`the noun ${noun} is not described`);
  return about;
}

/** The failure as it is told. What nobody foresaw is told too: its bugs concern whoever runs the program. */
function toShown(error: unknown): PlatformError {
  if (error instanceof PlatformError) return error;
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new PlatformError('internal', `This is a bug of freehold, please report it: ${what}`, {
    cause: error,
  });
}
