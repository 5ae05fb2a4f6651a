/** Writes the reference of the command line from the table of commands. */
import { type Command, type Option, optionName } from '../lib/command.ts';
import type { CommandTable } from '../lib/command-line.ts';
import { EXIT_CODES } from '../lib/failure.ts';

/** The page of the commands without a noun. */
const ONE_WORD = 'freehold';
const WRITTEN =
  'Written by `node packages/cli/src/docs/write.ts` from the table of commands; do not edit it.';

/** Returns the pages of `docs/cli` by file name: an index, and a page for each noun. */
export function cliPages({ commands, nouns }: CommandTable): ReadonlyMap<string, string> {
  const groups = [...Map.groupBy(commands, ({ path }) => (path.length === 1 ? ONE_WORD : path[0]))];
  const about = (noun: string) => (noun === ONE_WORD ? 'Commands of one word' : (nouns[noun] ?? noun));
  const index = groups.map(([noun, all]) => {
    const verbs = all.map(({ path }) => `\`${path.at(-1)}\``).join(', ');
    return `| [${noun}](${noun}.md) | ${cell(about(noun))} | ${verbs} |\n`;
  });
  const text = INTRODUCTION.replace('EXITS', exits()).replace('INDEX\n', () => index.join(''));
  return new Map([
    ['README.md', aligned(text)],
    ...groups.map(([noun, all]): [string, string] => [
      `${noun}.md`,
      aligned(
        `# ${noun === ONE_WORD ? 'freehold' : `freehold ${noun}`}\n\n${about(noun)}. [All commands](README.md)\n\n${WRITTEN}\n\n${all.map(commandText).join('\n\n')}\n`,
      ),
    ]),
  ]);
}

const INTRODUCTION = `# The command line

\`\`\`sh
freehold login --url https://api.apps.example.org
freehold tenants list
freehold help tenants create
\`\`\`

Every operation of the control plane is a command, \`freehold <family> <verb>\`, made of the same declaration as its
route: the parameters of the path are given by position, everything else by name.

${WRITTEN}

## Commands

| noun | about | commands |
| ---- | ----- | -------- |
INDEX

## Rules of every command

- **Answers** go to standard output: text for people, with \`--json\` one line of JSON, exactly as the API answers it (a
  list is a page; with \`--all\` it is one array; an empty answer is \`null\`).
- **Failures** are one sentence on standard error, with \`--json\` a problem document (RFC 9457).
- **A command never prompts**, so that a script cannot hang.
- **A slug** of a tenant or a scope can stand where its id does; the command looks the id up first.
- **JSON fields** and \`--sql\` take the text itself, \`@file\`, or \`-\` for standard input, as \`--body\` does for a whole
  body; options win over its fields. Secrets are read from \`@file\` or \`-\`, and never from the command line.
- **Input is judged before anything is sent**, by the declared schema.
- **Long work** is waited for, with a bar on a terminal. Ctrl-C ends the waiting, not the work; \`--no-wait\` does not wait.
- **Bytes** go to \`--out\` or into a pipe, never to a terminal, and a file is written whole or not at all.

## The control plane that is called

\`--profile\` wins over the environment, and the environment over the profile in use.

| setting            | meaning |
| ------------------ | ------- |
| \`--profile\`        | the name of a control plane at which you signed in |
| \`FREEHOLD_URL\`     | the address of a control plane |
| \`FREEHOLD_TOKEN\`   | a token for it: of a service, of a tenant's builder, of a member of the staff |
| \`FREEHOLD_PROFILE\` | the name of a profile |
| the profile in use | the profile of the first \`freehold login\`, or the one that \`freehold profile use\` chose |

Profiles are in \`$XDG_CONFIG_HOME/freehold/config.json\` (\`~/.config\` by default), which only you may read. A profile's
token goes to the profile's own address and nowhere else. \`http://\` is allowed for this machine only.

## Exit codes

| code | meaning |
| ---- | ------- |
EXITS
`;

function exits(): string {
  return Object.entries(EXIT_CODES)
    .map(([code, meaning]) => `| ${code} | ${meaning} |`)
    .join('\n');
}

function commandText(command: Command): string {
  const { path, description, examples, arguments: args, options } = command;
  const rows = [
    ...args.map(({ name, summary }): [string, string] => [`<${name}>`, summary]),
    ...Object.entries(options).map(([name, option]): [string, string] => [
      typed(name, option),
      summaryOf(option),
    ]),
  ];
  const table =
    rows.length === 0
      ? ''
      : `\n\n| argument | meaning |\n| --- | --- |\n${rows.map(([name, text]) => `| \`${cell(name)}\` | ${cell(text)} |`).join('\n')}`;
  const shown = examples.map(({ line, does }) => `${line}  # ${does}`).join('\n');
  return `## freehold ${path.join(' ')}\n\n${description}\n\n\`\`\`sh\n${shown}\n\`\`\`${table}`;
}

function typed(name: string, { kind = 'value', placeholder = 'value' }: Option): string {
  if (kind === 'flag') return optionName(name);
  if (kind === 'choice') return `${optionName(name)}, ${optionName(name).replace('--', '--no-')}`;
  return `${optionName(name)} <${placeholder}>`;
}

function summaryOf({ summary, values, required }: Option): string {
  return [summary, values && `(${values.join(', ')})`, required && '(required)'].filter(Boolean).join(' ');
}

/** Aligns the columns of every table, as the formatter of this repository does. */
function aligned(text: string): string {
  return text.replaceAll(/(?:^\|.*\|\n)+/gm, (table) => {
    const rows = table
      .trimEnd()
      .split('\n')
      .map((line) =>
        line
          .slice(1, -1)
          .split(/(?<!\\)\|/)
          .map((each) => each.trim()),
      );
    const widths = (rows[0] ?? []).map((_, column) =>
      Math.max(3, ...rows.map((row) => (row[column] ?? '').replace(/^-+$/, '').length)),
    );
    const lines = rows.map((row) =>
      row.map((each, column) =>
        (/^-+$/.test(each) ? '-' : each).padEnd(widths[column] ?? 0, /^-+$/.test(each) ? '-' : ' '),
      ),
    );
    return lines.map((row) => `| ${row.join(' | ')} |\n`).join('');
  });
}

/** Escapes the bars in a cell of a table. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
