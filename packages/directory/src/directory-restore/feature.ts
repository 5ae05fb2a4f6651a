/** The feature of restoring the directory from a backup of itself. */
import { defineFeature } from '../lib/feature.ts';
import { afterRestore } from './after-restore.ts';
import { restoreDirectory, restoreMethods } from './operations.ts';

export const directoryRestoreFeature = /* @__PURE__ */ defineFeature({
  operations: [afterRestore(restoreDirectory)],
  methods: restoreMethods,
});
