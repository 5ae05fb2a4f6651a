/**
 * `npm run check`: types, lint, format, import boundaries, plain language, dead code, the lock file, the list of
 * deliberate faults and spec citations. `npm run fix` repairs lint, format and the lock file.
 */
import { runStep, type Step } from './run.ts';

/** Areas of the requirements that a test must cite. */
const HELD = ['A', 'B', 'C', 'D'];

/** One checker: several check the types that they share again, at twice the CPU, and the tests run beside this. */
const types = (project: string): Step['command'] => ['tsc', '--checkers', '1', '-p', project];

const steps: Step[] = [
  { name: 'lint, format and boundaries', command: ['biome', 'check', '--error-on-warnings', '.'] },
  { name: 'types', command: types('tsconfig.json') },
  { name: 'types (engine in workerd)', command: types('packages/engine-workerd/tsconfig.json') },
  { name: 'types (in workerd)', command: types('tsconfig.workerd.json') },
  { name: 'types (in browsers)', command: types('tsconfig.web.json') },
  { name: 'folder cycles', command: ['node', 'tools/cycles.ts'] },
  { name: 'lock file', command: ['node', 'tools/lockfile.ts'] },
  { name: 'plain language', command: ['node', 'tools/language.ts'] },
  { name: 'dead code', command: ['knip', '--no-progress'] },
  { name: 'deliberate faults', command: ['node', 'tools/mutants.ts', '--check'] },
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
