/** The commands as stricli takes them: the one place that knows it, with `misreading.ts`. */
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
import type { Command, Option } from '../command.ts';
import type { CommandTable, Terminal } from '../command-line.ts';
import type { World } from '../world.ts';
import { describeFailure } from './failure.ts';
import { misreading, noSuchCommand } from './misreading.ts';

interface Form {
  /** Whether answers and failures are JSON. */
  readonly asJson: boolean;
}

/** Where answers go, and the world that commands run in. */
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
      // Help is read by programs and screen readers too, and is clear without colours.
      documentation: { disableAnsiColor: true },
      localization: {
        text: {
          ...text_en,
          // It is asked for every argument that is missing; a failure is one sentence, about the first.
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
      positional: {
        kind: 'tuple',
        parameters: declared.arguments.map(({ name, summary: brief, optional = false }) => ({
          placeholder: name,
          brief,
          parse: asTyped,
          optional,
        })),
        // stricli wants to know how many there are from the types; our commands are data.
      } as never,
    },
    async func({ json: _json, ...given }, ...values) {
      const named = declared.arguments.map(({ name }, index) => [name, values[index]]);
      const outcome = await declared.run({ ...given, ...Object.fromEntries(named) }, world);
      const { value, text, until, exitStatus: badNews } = outcome;
      world.progress(null);
      if (!asJson && text !== '') stdout.write(`${text}\n`);
      if (asJson && value !== undefined) stdout.write(`${JSON.stringify(value)}\n`);
      await until;
      if (badNews) throw badNews;
    },
  });
}

/** All are optional to stricli: what must be given is asked for by the command, in its own words. */
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

/** Values are judged by the command's own schema. */
const asTyped = (input: string): string => input;

function aboutOf(nouns: CommandTable['nouns'], noun: string): string {
  const about = nouns[noun];
  if (about === undefined) throw new TypeError(`the noun ${noun} is not described`);
  return about;
}
