/** The reference of the command line, from the table of commands. */
import { type Command, type Option, optionName } from '../command.ts';
import type { CommandTable } from '../command-line.ts';
import { EXIT_CODES } from '../lib/failure.ts';

/** The text of `docs/cli.md`. */
export function cliText({ commands, nouns }: CommandTable): string {
  const groups = [...Map.groupBy(commands, ({ path }) => (path.length === 1 ? '' : path[0]))];
  const sections = groups.map(([noun, all]) => {
    const heading = noun === '' ? '## Commands of one word' : `## ${noun}\n\n${nouns[noun]}.`;
    return `${heading}\n\n${all.map(commandText).join('\n\n')}`;
  });
  return aligned(`${INTRODUCTION.replace('EXITS', exits())}\n${sections.join('\n\n')}\n`);
}

const INTRODUCTION = `# The command line

Written by \`node packages/cli/src/docs/write.ts\` from the table of commands; do not edit it.

\`\`\`sh
freehold login --url https://api.apps.example.org
freehold tenants list
freehold help tenants create
\`\`\`

Every operation of the control plane is a command, \`freehold <family> <verb>\`, made of the same declaration as its
route: what stands in the path is given by position, everything else by name.

## What every command does

- **Answers** go to standard output: text for people, with \`--json\` one line of JSON, exactly as the API answers it (a
  list is a page; with \`--all\` it is one array; nothing is \`null\`).
- **Failures** are one sentence on standard error, with \`--json\` a problem document (RFC 9457).
- **Nothing is ever asked**, so that a script cannot hang.
- **\`--json\` fields** take JSON or \`@file\`; \`--body\` takes a whole body as JSON, as \`@file\`, or as \`-\` for standard
  input, and options beside it win. What is secret is read from \`@file\` or \`-\`, and never from the command line.
- **Input is judged before anything is sent**, by the declared schema.
- **Long work** is waited for, with a bar on a terminal. Ctrl-C ends the waiting, not the work; \`--no-wait\` does not wait.
- **Bytes** go to \`--out\` or into a pipe, never to a terminal, and a file is written whole or not at all.

## Which control plane is asked

| setting            |                                                                                             |
| ------------------ | ------------------------------------------------------------------------------------------- |
| \`--profile\`        | a control plane that somebody signed in at; wins over everything                            |
| \`FREEHOLD_URL\`     | the address of one                                                                          |
| \`FREEHOLD_TOKEN\`   | a token for it: of a service, of a tenant's builder, of a member of the staff               |
| \`FREEHOLD_PROFILE\` | a profile's name                                                                            |
| the profile in use | what \`freehold login\` remembered, or \`freehold profile use\` chose                           |

Profiles are in \`$XDG_CONFIG_HOME/freehold/config.json\` (\`~/.config\` by default), which only you may read. A profile's
token goes to the profile's own address and nowhere else. \`http://\` is for this machine alone.

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
    ...Object.entries(options).map(([name, option]): [string, string] => [typed(name, option), told(option)]),
  ];
  const table =
    rows.length === 0
      ? ''
      : `\n\n| | |\n| --- | --- |\n${rows.map(([name, text]) => `| \`${cell(name)}\` | ${cell(text)} |`).join('\n')}`;
  const shown = examples.map(({ line, does }) => `${line}  # ${does}`).join('\n');
  return `### freehold ${path.join(' ')}\n\n${description}\n\n\`\`\`sh\n${shown}\n\`\`\`${table}`;
}

function typed(name: string, { kind = 'value', placeholder = 'value' }: Option): string {
  if (kind === 'flag') return optionName(name);
  if (kind === 'choice') return `${optionName(name)}, ${optionName(name).replace('--', '--no-')}`;
  return `${optionName(name)} <${placeholder}>`;
}

function told({ summary, values, required }: Option): string {
  return [summary, values && `(${values.join(', ')})`, required && '(required)'].filter(Boolean).join(' ');
}

/** Every table with its columns under each other, as the formatter of this repository has them. */
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

/** What a cell of a table takes: no bars, and angle brackets that no reader takes for elements. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
