import { statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Linux keeps this directory in memory: an `fsync` there costs nothing, and tests make some ten thousand. */
const MEMORY = '/dev/shm';
const MEMORY_BYTES_MIN = 2 * 1024 ** 3;
/** The type number of a tmpfs (`statfs(2)`). */
const TMPFS = 0x01021994;

/** Where tests put their files. */
function scratchDirectory(): string {
  try {
    const { type, bavail, bsize } = statfsSync(MEMORY);
    if (type === TMPFS && bavail * bsize >= MEMORY_BYTES_MIN) return MEMORY;
  } catch {
    // Not this system.
  }
  return tmpdir();
}

process.env.TMPDIR = scratchDirectory();

/** A poll that ends within milliseconds on a free machine can take longer than the default of one second on a busy one. */
const expectPatiently = { poll: { timeout: 20_000 } };

/** Node packages in one project; the workerd engine brings its own (it runs inside workerd); whole processes have theirs. */
export default defineConfig({
  test: {
    // One more than there are cores: many tests wait for processes and for time. (The default leaves a core free.)
    maxWorkers: availableParallelism() + 1,
    projects: [
      {
        test: {
          name: 'node',
          expect: expectPatiently,
          include: [
            '{packages,apps,examples}/*/{src,test}/**/*.test.ts',
            'tests/{http,property,surface,tools,upgrade}/**/*.test.ts',
            'tests/workerd/on-node.test.ts',
          ],
          exclude: [
            'packages/engine-workerd/**',
            '**/node_modules/**',
            // Only `npm run test:long` runs these.
            ...(process.env.FREEHOLD_LONG ? [] : ['**/*.long.test.ts']),
          ],
          setupFiles: ['tests/support/seed.ts'],
          // Generous: all lanes share the machine.
          testTimeout: 30_000,
          // Modules are loaded once for each worker: loading them again for each of 400 files costs more than most tests.
          isolate: false,
          // Files share a heap, so most objects are young: with more room for them, collecting garbage takes a third less.
          execArgv: ['--max-semi-space-size=64'],
        },
      },
      {
        test: {
          name: 'crash',
          expect: expectPatiently,
          include: ['tests/crash/**/*.test.ts'],
          // Only `npm run test:long` runs these.
          exclude: process.env.FREEHOLD_LONG ? [] : ['**/*.long.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'sim',
          expect: expectPatiently,
          include: ['tests/sim/**/*.test.ts'],
          testTimeout: 120_000,
          isolate: false,
        },
      },
      {
        test: {
          name: 'e2e',
          expect: expectPatiently,
          include: ['tests/{e2e,packages,scaffold}/**/*.test.ts'],
          // Only `npm run test:long` runs these.
          exclude: process.env.FREEHOLD_LONG ? [] : ['**/*.long.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          isolate: false,
        },
      },
      // The same tests of an application, deployed: only `npm run test:long` runs them.
      ...(process.env.FREEHOLD_LONG
        ? [
            {
              test: {
                name: 'deployed',
                expect: expectPatiently,
                include: ['examples/fieldwork/test/{api,any-input,attachments,mcp,openapi,team-log}.test.ts'],
                env: { FREEHOLD_DEPLOYED: '1' },
                testTimeout: 60_000,
                hookTimeout: 60_000,
              },
            },
          ]
        : []),
      './packages/engine-workerd/vitest.config.ts',
      {
        // Runs on Node, and drives a workerd of its own over HTTP.
        test: {
          name: 'workerd-identity',
          expect: expectPatiently,
          include: ['tests/workerd/in-workerd.test.ts'],
          testTimeout: 30_000,
        },
      },
      {
        // The same, with a vertical as a worker in a process of its own.
        test: {
          name: 'workerd-vertical',
          expect: expectPatiently,
          include: ['tests/workerd-vertical/**/*.test.ts'],
          // Only `npm run test:long` runs these.
          exclude: process.env.FREEHOLD_LONG ? [] : ['**/*.long.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
