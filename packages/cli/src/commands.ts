/** Every command there is: those of the admin operations from their declarations, and those of this program itself. */
import { adminCommands } from './admin/admin-commands.ts';
import { ADMIN_NOUNS } from './admin/nouns.ts';
import { clientCommand } from './client/command.ts';
import type { CommandTable } from './command-line.ts';
import { completionCommand } from './completion/command.ts';
import { loginCommand } from './login/login-command.ts';
import { logoutCommand, whoamiCommand } from './login/session-commands.ts';
import { newCommand } from './new/command.ts';
import { openCommand } from './scope/open-command.ts';
import { pullCommand } from './scope/pull-command.ts';
import { profileCommands } from './settings/profile-commands.ts';

export const commands: CommandTable = {
  commands: [
    newCommand,
    clientCommand,
    loginCommand,
    logoutCommand,
    whoamiCommand,
    ...profileCommands,
    // Its own words are completed too, by the table that it is in.
    completionCommand(() => commands),
    pullCommand,
    openCommand,
    ...adminCommands(),
  ],
  nouns: {
    profile: 'Control planes that are known here',
    scope: 'A scope’s data on this machine',
    ...ADMIN_NOUNS,
  },
};
