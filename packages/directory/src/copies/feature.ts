/** The feature of snapshots of scopes, and of taking a scope back to one, to a backup or to a moment. */
import { defineFeature } from '../lib/feature.ts';
import { deleteSnapshot, readSnapshots, restoreScope, rewindScope, takeSnapshot } from './operations.ts';
import { copySourceMethods, planCopy, planRewindChecks, planSnapshotDelete } from './plans.ts';
import { snapshotMigrations } from './snapshot-store.ts';

export const copiesFeature = /* @__PURE__ */ defineFeature({
  operations: [
    readSnapshots,
    rewindScope,
    takeSnapshot,
    deleteSnapshot,
    restoreScope,
    planCopy,
    planRewindChecks,
    planSnapshotDelete,
  ],
  migrations: [snapshotMigrations],
  methods: (context) => copySourceMethods(context),
  queries: ['findCopy'],
});
