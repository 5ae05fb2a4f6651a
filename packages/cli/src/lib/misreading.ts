/** What could not be read in a command line, in one sentence each. */
import { PlatformError } from '@freehold/contracts';
import { ArgumentScannerError, formatMessageForArgumentScannerError } from '@stricli/core';
import { optionName } from '../command.ts';

/** The failure that an error of stricli's parser is; anything else is answered as it came. */
export function misreading(error: unknown): unknown {
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

/** @param corrections words that exist and are near, as stricli shows them: in backticks. */
export function noSuchCommand({
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
