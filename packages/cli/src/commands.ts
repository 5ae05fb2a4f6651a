/** The table of all commands: those of the admin operations, and those of this program itself. */
import { adminCommands } from './admin/admin-commands.ts';
import { ADMIN_NOUNS } from './admin/nouns.ts';
import { clientCommand } from './client/command.ts';
import { completionCommand } from './completion/scripts.ts';
import { deployProjectCommand } from './deploy/deploy-command.ts';
import { previewCommand } from './deploy/preview-command.ts';
import { rollbackCommand } from './deploy/rollback-command.ts';
import { devCommand } from './dev/dev-command.ts';
import type { CommandTable } from './lib/command-line.ts';
import { loginCommand } from './login/login-command.ts';
import { logoutCommand, whoamiCommand } from './login/session-commands.ts';
import { logsCommand } from './logs/logs-command.ts';
import { migrateMakeCommand } from './migrate/make-command.ts';
import { migrateTryCommand } from './migrate/try-command.ts';
import { newCommand } from './new/command.ts';
import { openCommand } from './scope/open-command.ts';
import { pullCommand } from './scope/pull-command.ts';
import { profileCommands } from './settings/profile-commands.ts';

export const commands: CommandTable = {
  commands: [
    newCommand,
    devCommand,
    migrateMakeCommand,
    migrateTryCommand,
    deployProjectCommand,
    previewCommand,
    rollbackCommand,
    logsCommand,
    clientCommand,
    loginCommand,
    logoutCommand,
    whoamiCommand,
    ...profileCommands,
    // The script completes this command too, so the command reads the table when it runs.
    completionCommand(() => commands),
    pullCommand,
    openCommand,
    ...adminCommands(),
  ],
  nouns: {
    profile: 'Control planes that are known here',
    migrate: 'The migrations of the application in this folder',
    scope: 'A scope’s data on this machine',
    ...ADMIN_NOUNS,
  },
};
