/** A command line from its words to an exit code. How it is read is in `lib/application.ts`. */
import { ExitCode, run } from '@stricli/core';
import type { Command, World } from './command.ts';
import { makeApplication } from './lib/application.ts';

/** 0: done. 1: it failed. 2: the command line cannot be used as it is. */
export type ExitStatus = 0 | 1 | 2;

export interface CommandTable {
  readonly commands: readonly Command[];
  /** What each noun is about, for the list of commands: `scopes` → "Instances of verticals". */
  readonly nouns: Readonly<Record<string, string>>;
}

/** Where a command line is read and answered. */
export interface Terminal extends World {
  readonly version: string;
  readonly stdout: { write(text: string): void };
  /** Gets one line a failure: a sentence, or with `--json` a problem document (RFC 9457). */
  readonly stderr: { write(text: string): void };
}

/**
 * Runs one command line, without the name of the program. It never asks anything, and answers failures.
 * `help [command…]` is `[command…] --help`.
 */
export async function runCommandLine(
  table: CommandTable,
  inputs: readonly string[],
  terminal: Terminal,
): Promise<ExitStatus> {
  const application = makeApplication(table, terminal, { asJson: isJsonWanted(inputs) });
  const process: { exitCode?: number | string | null } & Pick<Terminal, 'stdout' | 'stderr'> = {
    stdout: terminal.stdout,
    stderr: terminal.stderr,
  };
  await run(application, withoutHelpWord(inputs), { process });
  return exitStatus(process.exitCode);
}

/** Known before anything is parsed, so that a command line that cannot be parsed is refused in the same form. */
function isJsonWanted(inputs: readonly string[]): boolean {
  const end = inputs.indexOf('--');
  const options = end < 0 ? inputs : inputs.slice(0, end);
  return options.includes('--json') || options.includes('--json=true');
}

function withoutHelpWord(inputs: readonly string[]): readonly string[] {
  if (inputs[0] !== 'help') return inputs;
  return [...inputs.slice(1).filter((input) => !input.startsWith('-')), '--help'];
}

/** stricli has negative codes for what it could not read. */
function exitStatus(code: number | string | null | undefined): ExitStatus {
  if (code === ExitCode.Success) return 0;
  return code === 2 || code === ExitCode.InvalidArgument || code === ExitCode.UnknownCommand ? 2 : 1;
}
