/** A closed database leaves nothing in memory: units are opened and closed for as long as the process lives. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { openNodeDatabase } from './node-database.ts';

const DATABASES = 20;

test.each(['close', 'closeWithLog'] as const)('a database is collected after %s', async (close) => {
  const place = mkdtempSync(join(tmpdir(), 'freehold-closed-'));
  onTestFinished(() => rmSync(place, { recursive: true }));
  const closed = Array.from({ length: DATABASES }, (_, at) =>
    useAndClose(join(place, `${at}.sqlite`), close),
  );
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  // One collection can spare an object that a word on the stack happens to point at; what is kept for good survives all.
  await expect
    .poll(() => {
      collectGarbage();
      return closed.filter((each) => each.deref() !== undefined).length;
    })
    .toBe(0);
});

function useAndClose(path: string, close: 'close' | 'closeWithLog'): WeakRef<object> {
  const { db, guarded, ...database } = openNodeDatabase(path);
  db.exec('CREATE TABLE rows (value TEXT)');
  const view = guarded({ readOnly: false, protectedPrefix: '_spine_' });
  view.savepoint(() => view.run('INSERT INTO rows VALUES (?)', 'one'));
  database[close]();
  return new WeakRef(view);
}
