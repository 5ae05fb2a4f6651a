/**
 * `freehold completion`, and its scripts for three shells: words, options and known values from the table of commands.
 */
import { z } from 'zod';
import { type Command, command, type Option, optionName } from '../lib/command.ts';
import type { CommandTable } from '../lib/command-line.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** @param table is read when the command runs, because the command is in it. */
export function completionCommand(table: () => CommandTable): Command {
  return command({
    path: ['completion'],
    summary: 'Print a completion script',
    description:
      'Prints a script with which a shell completes commands, options and their values. It is made of the table of commands.',
    examples: [
      { line: 'freehold completion bash >> ~/.bashrc', does: 'for bash' },
      { line: 'freehold completion fish > ~/.config/fish/completions/freehold.fish', does: 'for fish' },
    ],
    arguments: [{ name: 'shell', summary: `One of ${SHELLS.join(', ')}`, values: SHELLS }],
    options: {},
    input: z.strictObject({ shell: z.enum(SHELLS, `must be one of ${SHELLS.join(', ')}`) }),
    run: ({ shell }) => {
      const script = completionScript(table(), shell);
      return { value: { shell, script }, text: script.trimEnd() };
    },
  });
}

export function completionScript({ commands, nouns }: CommandTable, shell: Shell): string {
  return { bash, zsh, fish }[shell](commands, nouns);
}

/** Returns first words with their summaries. */
function firstWords(commands: readonly Command[], nouns: CommandTable['nouns']): [string, string][] {
  const groups = Map.groupBy(commands, ({ path }) => path[0]);
  return [...groups].map(([word, [first]]) => [
    word,
    first?.path.length === 1 ? first.summary : (nouns[word] ?? word),
  ]);
}

function verbsOf(commands: readonly Command[]): [noun: string, verbs: Command[]][] {
  return [
    ...Map.groupBy(
      commands.filter(({ path }) => path.length === 2),
      ({ path }) => path[0],
    ),
  ];
}

function optionsOf({ options }: Command): string[] {
  const own = Object.entries(options).flatMap(([name, { kind }]) =>
    kind === 'choice' ? [optionName(name), optionName(name).replace('--', '--no-')] : [optionName(name)],
  );
  return [...own, '--json', '--help'];
}

/** Returns values by option, and those of the arguments under the empty name. */
function valuesOf({ options, arguments: args }: Command): [option: string, values: readonly string[]][] {
  const named = Object.entries(options).flatMap(([name, { values }]): [string, readonly string[]][] =>
    values ? [[optionName(name), values]] : [],
  );
  const positional = args.flatMap(({ values = [] }) => values);
  return positional.length === 0 ? named : [...named, ['', positional]];
}

/** The form in which a free value names a file: alone, after `@`, or not at all. */
function fileFormOf({ placeholder = '', values }: Option): '@' | 'file' | null {
  if (values || !/file|dir/.test(placeholder)) return null;
  return placeholder.includes('@file') ? '@' : 'file';
}

/** Returns the options that take a value, with the form in which it names a file. */
function takesValue({ options }: Command): [option: string, form: ReturnType<typeof fileFormOf>][] {
  return Object.entries(options)
    .filter(([, { kind = 'value' }]) => kind === 'value' || kind === 'list')
    .map(([name, option]) => [optionName(name), fileFormOf(option)]);
}

function takesFile({ arguments: args }: Command): boolean {
  return args.some(({ isFile }) => isFile);
}

function bash(commands: readonly Command[], nouns: CommandTable['nouns']): string {
  const words = firstWords(commands, nouns).map(([word]) => word);
  const verbs = verbsOf(commands).map(
    ([noun, all]) => `      ${noun}) words="${all.map(({ path }) => path[1]).join(' ')}" ;;`,
  );
  const options = commands.map(
    (each) => `    '${each.path.join(' ')}') words="${optionsOf(each).join(' ')}" ;;`,
  );
  const values = commands.flatMap((each) =>
    valuesOf(each).map(
      ([option, all]) => `    '${[...each.path, option].join(' ')}') words="${all.join(' ')}" ;;`,
    ),
  );
  const valued = (wanted: '@' | 'file' | null) =>
    commands.flatMap((each) =>
      takesValue(each).flatMap(([option, form]) =>
        form === wanted ? [`'${[...each.path, option].join(' ')}'`] : [],
      ),
    );
  const alone = commands.filter(({ path }) => path.length === 1).map(({ path }) => path[0]);
  return `# Completion of freehold for bash: eval "$(freehold completion bash)"
_freehold() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" words="" path
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${words.join(' ')} help --help --version" -- "$cur"))
    return
  fi
  path="\${COMP_WORDS[1]}"
  case "$path" in
    ${alone.join('|')}) ;;
    *)
      if [ "$COMP_CWORD" -eq 2 ]; then
        case "$path" in
${verbs.join('\n')}
        esac
        COMPREPLY=($(compgen -W "$words --help" -- "$cur"))
        return
      fi
      path="$path \${COMP_WORDS[2]}" ;;
  esac
  case "$path $prev" in
${values.filter((line) => !/ '\) /.test(line)).join('\n')}
    ${valued('file').join('|')}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    ${valued('@').join('|')}) COMPREPLY=($(compgen -P @ -f -- "\${cur#@}")); return ;;
    ${valued(null).join('|')}) return ;;
  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  if [ "\${cur#-}" = "$cur" ]; then
    case "$path " in
${values.filter((line) => / '\) /.test(line)).join('\n')}
      ${commands
        .filter(takesFile)
        .map(({ path }) => `'${path.join(' ')} '`)
        .join('|')}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  case "$path" in
${options.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o filenames -F _freehold freehold
`;
}

function zsh(commands: readonly Command[], nouns: CommandTable['nouns']): string {
  const told = (entries: [string, string][]) =>
    entries.map(([word, about]) => quote(`${word}:${about.replaceAll(':', '\\:')}`)).join(' ');
  const verbs = verbsOf(commands).map(([noun, all]) => {
    const entries = all.map(({ path, summary }): [string, string] => [path[1] as string, summary]);
    return `    ${noun}) entries=(${told(entries)}) ;;`;
  });
  const options = commands.map(
    (each) => `    ${quote(each.path.join(' '))}) words=(${optionsOf(each).join(' ')}) ;;`,
  );
  const values = commands.flatMap((each) =>
    valuesOf(each).map(
      ([option, all]) =>
        `    ${quote([...each.path, option].join(' '))}) compadd -- ${all.join(' ')}; return ;;`,
    ),
  );
  const valued = (wanted: '@' | 'file' | null) =>
    commands.flatMap((each) =>
      takesValue(each).flatMap(([option, form]) =>
        form === wanted ? [quote([...each.path, option].join(' '))] : [],
      ),
    );
  const alone = commands.filter(({ path }) => path.length === 1).map(({ path }) => path[0]);
  return `#compdef freehold
# Completion of freehold for zsh: freehold completion zsh > a file named _freehold in a directory of $fpath
_freehold() {
  local -a entries names
  local target
  names=("\${(@)words}")
  if (( CURRENT == 2 )); then
    entries=(${told(firstWords(commands, nouns))})
    _describe command entries
    return
  fi
  target="\${names[2]}"
  case "$target" in
    ${alone.join('|')}) ;;
    *)
      if (( CURRENT == 3 )); then
        case "$target" in
${verbs.join('\n')}
        esac
        _describe command entries
        return
      fi
      target="$target \${names[3]}" ;;
  esac
  case "$target \${names[CURRENT-1]}" in
${values.join('\n')}
    ${valued('file').join('|')}) _files; return ;;
    ${valued('@').join('|')}) compset -P @ && _files; return ;;
    ${valued(null).join('|')}) return ;;
  esac
  if [[ "\${names[CURRENT]}" != -* ]]; then
    case "$target " in
${values.filter((line) => / '\) /.test(line)).join('\n')}
      ${commands
        .filter(takesFile)
        .map(({ path }) => quote(`${path.join(' ')} `))
        .join('|')}) _files ;;
    esac
    return
  fi
  local -a words
  case "$target" in
${options.join('\n')}
  esac
  compadd -- $words
}
compdef _freehold freehold
`;
}

function fish(commands: readonly Command[], nouns: CommandTable['nouns']): string {
  const lines = firstWords(commands, nouns).map(
    ([word, about]) => `complete -c freehold -f -n __fish_use_subcommand -a ${word} -d ${quote(about)}`,
  );
  for (const [noun, all] of verbsOf(commands)) {
    const known = all.map(({ path }) => path[1]).join(' ');
    const when = quote(`__fish_seen_subcommand_from ${noun}; and not __fish_seen_subcommand_from ${known}`);
    for (const { path, summary } of all)
      lines.push(`complete -c freehold -f -n ${when} -a ${path[1]} -d ${quote(summary)}`);
  }
  for (const each of commands) {
    const when = quote(each.path.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and '));
    const values = new Map(valuesOf(each));
    for (const [name, described] of Object.entries(each.options)) {
      const { summary, kind = 'value' } = described;
      const option = optionName(name);
      const isValued = kind === 'value' || kind === 'list';
      const takes = isValued ? (fileFormOf(described) ? ' -r -F' : ' -x') : '';
      const known = values.get(option);
      const list = known ? ` -a ${quote(known.join(' '))}` : '';
      lines.push(`complete -c freehold -n ${when} -l ${option.slice(2)}${takes}${list} -d ${quote(summary)}`);
    }
    const positional = values.get('');
    if (positional) lines.push(`complete -c freehold -f -n ${when} -a ${quote(positional.join(' '))}`);
    else lines.push(`complete -c freehold ${takesFile(each) ? '-F' : '-f'} -n ${when}`);
  }
  lines.push("complete -c freehold -l json -d 'Print the answer as one line of JSON'");
  return `# Completion of freehold for fish: freehold completion fish | source\n${lines.join('\n')}\n`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
