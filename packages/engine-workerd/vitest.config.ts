import { cloudflareTest } from '@cloudflare/vitest-plugin';
import { defineConfig } from 'vitest/config';

// The tool would report its use to its maker; a test run talks to no program.
process.env.WRANGLER_SEND_METRICS = 'false';

/** These tests run inside workerd. They share its storage, so every test takes a unit key of its own. */
export default defineConfig({
  plugins: [
    cloudflareTest({
      main: './test/worker.ts',
      miniflare: {
        cf: false,
        compatibilityDate: '2026-07-01',
        // The store hashes migrations with node:crypto.
        compatibilityFlags: ['nodejs_compat'],
        r2Buckets: ['BLOBS'],
        durableObjects: {
          NOTES: { className: 'NotesObject', useSQLite: true },
          GUARDED: { className: 'GuardedObject', useSQLite: true },
          MIGRATING: { className: 'MigratingObject', useSQLite: true },
          LIBRARY: { className: 'LibraryObject', useSQLite: true },
          KEEPING: { className: 'KeepingObject', useSQLite: true },
          DIRECTORY: { className: 'DirectoryObject', useSQLite: true },
          VAULT: { className: 'VaultObject', useSQLite: true },
          WORKING: { className: 'WorkingObject', useSQLite: true },
          TICKING: { className: 'TickingObject', useSQLite: true },
          TOOLS: { className: 'ToolsObject', useSQLite: true },
          OTHER_TOOLS: { className: 'OtherToolsObject', useSQLite: true },
          SECRET: { className: 'SecretObject', useSQLite: true },
          HISTORIC: { className: 'HistoricObject', useSQLite: true },
        },
      },
    }),
  ],
  // Generous: all lanes share the machine, and some tests hash 16 MiB.
  test: {
    name: 'workerd',
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Only `npm run test:long` runs these.
    exclude: process.env.FREEHOLD_LONG ? [] : ['**/*.long.test.ts'],
    testTimeout: 60_000,
    // One workerd for all files: to load the platform again for each took a third of the time.
    isolate: false,
    maxWorkers: 1,
    // Another number of workers than the other projects have needs a turn of its own.
    sequence: { groupOrder: 1 },
  },
});
