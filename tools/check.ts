/**
 * `npm run check`: types, lint, format, import boundaries, plain language, dead code, the lock file and spec
 * citations. `npm run fix` repairs lint, format and the lock file.
 */
import { runStep, type Step } from './run.ts';

/** Areas of the requirements that a test must cite. */
const HELD = ['A', 'B', 'C', 'D'];

const steps: Step[] = [
  { name: 'lint, format and boundaries', command: ['biome', 'check', '--error-on-warnings', '.'] },
  { name: 'types', command: ['tsc', '-p', 'tsconfig.json'] },
  { name: 'types (workerd)', command: ['tsc', '-p', 'packages/engine-workerd/tsconfig.json'] },
  { name: 'types (fieldwork on workerd)', command: ['tsc', '-p', 'examples/fieldwork/worker/tsconfig.json'] },
  { name: 'types (web)', command: ['tsc', '-p', 'examples/fieldwork/web/tsconfig.json'] },
  { name: 'folder cycles', command: ['node', 'tools/cycles.ts'] },
  { name: 'lock file', command: ['node', 'tools/lockfile.ts'] },
  { name: 'plain language', command: ['node', 'tools/language.ts'] },
  { name: 'dead code', command: ['knip', '--no-progress'] },
  { name: 'spec citations', command: ['node', 'tools/spec.ts', '--json', '--require', HELD.join(',')] },
];

const failed: Step[] = [];
for (const step of steps) if (!(await runStep(step))) failed.push(step);
if (failed.length > 0) {
  console.error(
    `\ncheck failed: ${failed.map((step) => step.name).join(', ')}. \`npm run fix\` repairs lint and format.`,
  );
  process.exitCode = 1;
}
