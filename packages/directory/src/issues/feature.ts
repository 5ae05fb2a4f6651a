/** What the directory's unit has of issues. */
import { defineFeature } from '../lib/feature.ts';
import { issueMethods, readIssues, setIssueStatus } from './operations.ts';
import { issueMigrations } from './schema.ts';

export const issuesFeature = defineFeature({
  operations: [readIssues, setIssueStatus],
  migrations: [issueMigrations],
  methods: issueMethods,
});
