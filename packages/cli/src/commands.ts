/** Every command there is. The admin operations will be added from their declarations, as noun and verb. */
import { clientCommand } from './client/command.ts';
import type { CommandTable } from './command-line.ts';
import { newCommand } from './new/command.ts';

export const commands: CommandTable = { commands: [newCommand, clientCommand], nouns: {} };
