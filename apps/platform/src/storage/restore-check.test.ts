import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { findMissing } from './restore-check.ts';

test('an application whose only scope is missing is named, and one that runs elsewhere is not', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-restore-check-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true }));
  mkdirSync(join(dataDirectory, 'directory'));
  const directory = new DatabaseSync(join(dataDirectory, 'directory', 'main.sqlite'));
  directory.exec(`
CREATE TABLE scopes (id TEXT, vertical TEXT, status TEXT) STRICT;
INSERT INTO scopes VALUES ('scp_a', 'fieldwork', 'active'), ('scp_b', 'elsewhere', 'active');
CREATE TABLE verticals (slug TEXT, built_in TEXT) STRICT;
INSERT INTO verticals VALUES ('fieldwork', '1.0.0'), ('elsewhere', NULL);`);
  directory.close();
  const storeOf = () => ({ list: async function* () {} });
  expect(await findMissing(dataDirectory, storeOf)).toEqual([
    { what: 'scope scp_a: its database', path: 'scope-fieldwork/scp_a.sqlite' },
  ]);
});
