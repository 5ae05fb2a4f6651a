#!/usr/bin/env node
/** The `freehold` program: this process as a terminal. */
import packageJson from '../package.json' with { type: 'json' };
import { runCommandLine } from './command-line.ts';
import { commands } from './commands.ts';

// Whoever reads only the first lines (`freehold help | head -1`) has not made us fail.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

process.exitCode = await runCommandLine(commands, process.argv.slice(2), {
  cwd: process.cwd(),
  version: packageJson.version,
  stdout: process.stdout,
  stderr: process.stderr,
});
