/** `freehold completion`: a script with which a shell completes command lines. */
import { z } from 'zod';
import { type Command, command } from '../command.ts';
import type { CommandTable } from '../command-line.ts';
import { completionScript, SHELLS } from './scripts.ts';

/** @param table asked when the command runs, because the command is in it. */
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
