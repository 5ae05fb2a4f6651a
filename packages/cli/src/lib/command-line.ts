/** Runs a command line: from its words to an exit code. `application.ts` parses it. */
import { ExitCode, run } from '@stricli/core';
import { makeApplication } from './application.ts';
import type { Command } from './command.ts';
import { EXIT_CODES, type ExitStatus } from './failure.ts';
import type { World } from './world.ts';

export interface CommandTable {
  readonly commands: readonly Command[];
  /** The subject of each noun, for the list of commands: `scopes` → "Instances of verticals". */
  readonly nouns: Readonly<Record<string, string>>;
}

/** The surroundings of one command line. */
export interface Terminal extends Omit<World, 'say' | 'progress' | 'isWatched' | 'isTerminal' | 'asJson'> {
  readonly version: string;
  readonly stdout: { write(text: string): void };
  /** Receives one line for each failure: a sentence, or with `--json` a problem document (RFC 9457). */
  readonly stderr: { write(text: string): void; readonly isTerminal: boolean };
}

/**
 * Runs one command line, given without the name of the program. Never prompts; prints failures instead of throwing.
 * `help [command…]` is `[command…] --help`.
 */
export async function runCommandLine(
  table: CommandTable,
  inputs: readonly string[],
  terminal: Terminal,
): Promise<ExitStatus> {
  const asJson = isJsonWanted(inputs);
  const world = worldOf(terminal, { asJson });
  const application = makeApplication(table, { ...terminal, world }, { asJson });
  const { stdout, stderr } = terminal;
  // stricli ends every sentence with a line break, also the empty ones.
  const process: { exitCode?: number | string | null } & Record<'stdout' | 'stderr', Terminal['stdout']> = {
    stdout,
    stderr: { write: (text) => void (text.trim() === '' || stderr.write(text)) },
  };
  await run(application, withLetters(withoutHelpWord(inputs)), { process });
  return exitStatus(process.exitCode);
}

/** Progress is for a person at a terminal. It is cleared before anything else is written. */
function worldOf(terminal: Terminal, { asJson }: { readonly asJson: boolean }): World {
  const { stderr } = terminal;
  const isWatched = stderr.isTerminal && !asJson;
  const clear = '\r\u001b[2K';
  let shown = false;
  const progress = (line: string | null): void => {
    if (!isWatched || (line === null && !shown)) return;
    stderr.write(`${clear}${line ?? ''}`);
    shown = line !== null;
  };
  const say = (line: string): void => {
    progress(null);
    stderr.write(`${line}\n`);
  };
  return { ...terminal, isTerminal: stderr.isTerminal, isWatched, asJson, progress, say };
}

/** Read before parsing, so that a line that cannot be parsed is refused in the same form. */
function isJsonWanted(inputs: readonly string[]): boolean {
  const end = inputs.indexOf('--');
  const options = end < 0 ? inputs : inputs.slice(0, end);
  return options.includes('--json') || options.includes('--json=true');
}

function withoutHelpWord(inputs: readonly string[]): readonly string[] {
  if (inputs[0] !== 'help') return inputs;
  return [...inputs.slice(1).filter((input) => !input.startsWith('-')), '--help'];
}

/** `--q` and `--q=x` → `-q` and `-q x`: stricli reads no long option of one letter. */
function withLetters(inputs: readonly string[]): readonly string[] {
  const end = inputs.indexOf('--');
  return inputs.flatMap((input, index) => {
    const letter = end < 0 || index < end ? /^--([a-z])(?:=(.*))?$/s.exec(input) : null;
    if (!letter) return [input];
    return letter[2] === undefined ? [`-${letter[1]}`] : [`-${letter[1]}`, letter[2]];
  });
}

/** stricli has negative codes for lines that it cannot parse. */
function exitStatus(code: number | string | null | undefined): ExitStatus {
  if (code === ExitCode.InvalidArgument || code === ExitCode.UnknownCommand) return 2;
  return typeof code === 'number' && Object.hasOwn(EXIT_CODES, code) ? (code as ExitStatus) : 1;
}
