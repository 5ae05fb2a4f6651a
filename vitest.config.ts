import { defineConfig } from 'vitest/config';

/** Node packages in one project; the workerd engine brings its own (it runs inside workerd). */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'node',
          include: ['{packages,apps,examples}/*/{src,test}/**/*.test.ts', 'tests/{contract,http,property,tools}/**/*.test.ts'],
          exclude: ['packages/engine-workerd/**', '**/node_modules/**'],
        },
      },
      './packages/engine-workerd/vitest.config.ts',
    ],
  },
});
