/**
 * `npm run check`: types, lint, format, import boundaries, dead code, the lock file and spec citations. `npm run fix`
 * repairs what can be repaired.
 */
import { runStep, type Step } from './run.ts';

/** Areas and requirements that a test must cite from now on. Grows with what is resolved. */
const HELD = [
  'B',
  ...[
    'A-01',
    'A-03',
    'A-05',
    'A-06',
    'A-07',
    'A-08',
    'A-09',
    'A-10',
    'A-11',
    'A-12',
    'A-13',
    'A-14',
    'A-15',
    'A-16',
    'A-17',
  ],
  ...[
    'A-18',
    'A-19',
    'A-20',
    'A-21',
    'A-22',
    'A-23',
    'A-24',
    'A-25',
    'A-26',
    'A-27',
    'A-28',
    'A-29',
    'A-30',
    'A-31',
    'A-32',
    'A-33',
  ],
  ...['A-34', 'A-35', 'A-36', 'A-37', 'A-38', 'A-39', 'A-40'],
  ...['C-01', 'C-02', 'C-06', 'C-07', 'C-11', 'C-12', 'C-23', 'C-29', 'C-30', 'C-32', 'C-33'],
  ...['D-03', 'D-04', 'D-05', 'D-06', 'D-07', 'D-08', 'D-09', 'D-10'],
];

const steps: Step[] = [
  { name: 'lint, format and boundaries', command: ['biome', 'check', '--error-on-warnings', '.'] },
  { name: 'types', command: ['tsc', '-p', 'tsconfig.json'] },
  { name: 'types (workerd)', command: ['tsc', '-p', 'packages/engine-workerd/tsconfig.json'] },
  { name: 'types (web)', command: ['tsc', '-p', 'examples/fieldwork/web/tsconfig.json'] },
  { name: 'lock file', command: ['node', 'tools/lockfile.ts'] },
  { name: 'dead code', command: ['knip', '--no-progress'] },
  { name: 'spec citations', command: ['node', 'tools/spec.ts', '--json', '--require', HELD.join(',')] },
];

const failed = steps.filter((step) => !runStep(step));
if (failed.length > 0) {
  console.error(
    `\ncheck failed: ${failed.map((step) => step.name).join(', ')}. \`npm run fix\` repairs lint and format.`,
  );
  process.exitCode = 1;
}
