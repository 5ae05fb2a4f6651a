/** Clients and the command line import the contracts of the admin operations, and no handler. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Traces of a handler or an effect: statements, migrations, calls of the SQL port, and the objects of effects. */
const PERFORMING = [
  /\w+Effects? = \{/,
  /\bCREATE TABLE\b/,
  /\bINSERT INTO\b/,
  /\bDELETE FROM\b/,
  /\bdb\.(?:get|all|run)\(/,
];

test.each([
  ['the client of the control plane', 'packages/control-plane/src/client/index.ts', /\bfrom "node:/],
  ['the command table', 'packages/cli/src/commands.ts', null],
])('%s', async (_, entry, forbidden) => {
  const { metafile, outputFiles } = await build({
    entryPoints: [entry],
    absWorkingDir: root,
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    metafile: true,
    logLevel: 'silent',
  });
  const [file] = outputFiles;
  const [output] = Object.values(metafile.outputs);
  const brought = Object.entries(output?.inputs ?? {})
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([name]) => name);
  expect(brought.filter((name) => name.includes('directory/src/declarations/')).length).toBeGreaterThan(0);
  expect(
    brought.filter((name) =>
      /packages\/(?:store|kernel|auth)\/|directory\/src\/(?:lib|unit|verticals\/(?:client|reach))\b/.test(
        name,
      ),
    ),
  ).toEqual([]);
  for (const form of [...PERFORMING, ...(forbidden ? [forbidden] : [])])
    expect([form, form.exec(file?.text ?? '')?.[0]]).toEqual([form, undefined]);
});
