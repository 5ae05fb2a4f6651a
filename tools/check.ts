/** `npm run check`: types, lint, format, import boundaries, dead exports and spec citations. `npm run fix` repairs what can be repaired. */
import { runStep, type Step } from './run.ts';

const steps: Step[] = [
  { name: 'lint, format and boundaries', command: ['biome', 'check', '--error-on-warnings', '.'] },
  { name: 'types', command: ['tsc', '-p', 'tsconfig.json'] },
  { name: 'types (workerd)', command: ['tsc', '-p', 'packages/engine-workerd/tsconfig.json'] },
  { name: 'types (web)', command: ['tsc', '-p', 'examples/fieldwork/web/tsconfig.json'] },
  { name: 'dead code', command: ['knip', '--no-progress'] },
  { name: 'spec citations', command: ['node', 'tools/spec.ts', '--json'] },
];

const failed = steps.filter((step) => !runStep(step));
if (failed.length > 0) {
  console.error(
    `\ncheck failed: ${failed.map((step) => step.name).join(', ')}. \`npm run fix\` repairs lint and format.`,
  );
  process.exitCode = 1;
}
