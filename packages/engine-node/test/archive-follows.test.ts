/** An archive is continued by the history that it holds, and never replaced by another one. */
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { giveUpUnit, restoreDataDirectory } from '../src/index.ts';
import { breakableArchive, newDirectory, openFixture, openPlain, restored } from './archive-fixture.ts';
import { historyUnit } from './history-unit.ts';
import { vaultUnit } from './vault-unit.ts';

const create = { create: true };
const contentsIn = async (archive: ReturnType<typeof breakableArchive>) =>
  openPlain(await restored(archive))
    .unit(historyUnit, 'a')
    .contents();

/** A closed data directory with one unit of each sort, archived. */
async function archivedFixture() {
  const { engine, archive, dataDirectory } = openFixture(breakableArchive());
  const unit = engine.unit(historyUnit, 'a', create);
  for (let i = 0; i < 5; i++) await unit.add({ note: `entry ${i}`, rows: 2, bytes: 300 });
  await engine.unit(vaultUnit, 'v', create).put({ value: 'a key' });
  const contents = await unit.contents();
  await engine.close();
  return { archive, dataDirectory, contents };
}

describe('a database that is gone', () => {
  test.each(['is deleted', 'is emptied', 'is deleted with its history'])(
    '%s: it is not made anew, and its copy in the archive stays',
    async (how) => {
      const { archive, dataDirectory, contents } = await archivedFixture();
      const path = join(dataDirectory, 'scope-history', 'a.sqlite');
      if (how === 'is emptied') truncateSync(path);
      else rmSync(path);
      if (how.endsWith('history'))
        rmSync(join(dataDirectory, 'scope-history', 'a.history'), { recursive: true });
      const { engine, incidents } = openFixture(archive, dataDirectory);
      const lost = { code: 'unavailable', reason: 'unit_unreadable' };
      await expect(engine.unit(historyUnit, 'a', create).add({ note: 'anew' })).rejects.toMatchObject(lost);
      await expect(engine.unit(historyUnit, 'a').count()).rejects.toMatchObject(lost);
      expect(String(incidents[0])).toContain(path);
      await engine.flushArchive().catch(() => undefined);
      expect(await contentsIn(archive)).toBe(contents);
      if (how === 'is deleted')
        expect(readdirSync(join(dataDirectory, 'scope-history', 'a.history')).length).toBeGreaterThan(0);
    },
  );

  test.each(['with its history', 'without its history'])(
    'that is restored from a copy goes on in the archive: %s',
    async (how) => {
      const { archive, dataDirectory, contents } = await archivedFixture();
      const before = openPlain(await restored(archive)).tools(historyUnit, 'a');
      const copy = await new Response(
        (await before.export('sqlite')).body as ReadableStream<Uint8Array<ArrayBuffer>>,
      ).arrayBuffer();
      rmSync(join(dataDirectory, 'scope-history', 'a.sqlite'));
      if (how.startsWith('without'))
        rmSync(join(dataDirectory, 'scope-history', 'a.history'), { recursive: true });
      const { engine } = openFixture(archive, dataDirectory);
      const body = new Blob([copy]).stream();
      await engine
        .tools(historyUnit, 'a')
        .restore('sqlite', body, undefined, undefined, { evenIfLost: true });
      expect(await engine.unit(historyUnit, 'a').contents()).toBe(contents);
      await engine.unit(historyUnit, 'a').add({ note: 'after the restore' });
      await engine.flushArchive();
      expect(await contentsIn(archive)).toContain('after the restore');
    },
  );

  test('of a unit without history ends the wait for the archive', async () => {
    const { archive, dataDirectory } = await archivedFixture();
    const { engine } = openFixture(archive, dataDirectory);
    await engine.unit(vaultUnit, 'v').put({ value: 'another key' });
    const before = archive.objects.get('units/vault/v/present');
    rmSync(join(dataDirectory, 'vault', 'v.sqlite'));
    await engine.archived(vaultUnit, 'v');
    expect(archive.objects.get('units/vault/v/present')).toBe(before);
  });

  test('of a unit without history is not made anew either', async () => {
    const { archive, dataDirectory } = await archivedFixture();
    const before = archive.objects.get('units/vault/v/present');
    rmSync(join(dataDirectory, 'vault', 'v.sqlite'));
    const { engine } = openFixture(archive, dataDirectory);
    await expect(engine.unit(vaultUnit, 'v', create).list()).rejects.toMatchObject({
      reason: 'unit_unreadable',
    });
    await engine.flushArchive();
    expect(archive.objects.get('units/vault/v/present')).toBe(before);
  });

  test('and was never archived is not made anew either while its history is there', async () => {
    const dataDirectory = newDirectory();
    const plain = openPlain(dataDirectory);
    await plain.unit(historyUnit, 'a', create).add({ note: 'one' });
    await plain.close();
    rmSync(join(dataDirectory, 'scope-history', 'a.sqlite'));
    const { engine } = openFixture(breakableArchive(), dataDirectory);
    await expect(engine.unit(historyUnit, 'a', create).count()).rejects.toMatchObject({
      reason: 'unit_unreadable',
    });
  });
});

test('a new unit does not replace the copy of another, delays no other unit, and is shipped once the copy is moved', async () => {
  let nowMs = 1_800_000_000_000;
  const { archive, dataDirectory, contents } = await archivedFixture();
  // As after the loss of everything that a directory knows of the unit.
  rmSync(join(dataDirectory, 'scope-history'), { recursive: true });
  rmSync(join(dataDirectory, '.archive', 'shipped', 'scope-history.a'));
  const { engine, incidents } = openFixture(archive, dataDirectory, { now: () => nowMs });
  await engine.unit(historyUnit, 'a', create).add({ note: 'another life' });
  await engine.unit(historyUnit, 'b', create).add({ note: 'b' });
  await expect(engine.flushArchive()).rejects.toMatchObject({ reason: 'archive_not_followed' });
  expect(await contentsIn(archive)).toBe(contents);
  expect(engine.archiveStatus()).toMatchObject({ state: 'failing', failures: 1 });
  nowMs += 1;
  await expect(engine.flushArchive()).rejects.toMatchObject({ reason: 'archive_not_followed' });
  expect([...archive.objects.keys()].some((key) => key.startsWith('units/scope-history/b/'))).toBe(true);
  expect(incidents).toHaveLength(1);
  for (const key of [...archive.objects.keys()])
    if (key.startsWith('units/scope-history/a/')) archive.objects.delete(key);
  await engine.flushArchive();
  expect(await contentsIn(archive)).toBe(await engine.unit(historyUnit, 'a').contents());
  expect(engine.archiveStatus()).toMatchObject({ state: 'current', failures: 0, lastError: null });
});

describe('a copy of a data directory', () => {
  test('that is older than the archive does not replace it', async () => {
    const { archive, dataDirectory } = await archivedFixture();
    const older = join(newDirectory(), 'data');
    cpSync(dataDirectory, older, { recursive: true, preserveTimestamps: true });
    const { engine } = openFixture(archive, dataDirectory);
    await engine.unit(historyUnit, 'a').add({ note: 'after the copy' });
    const contents = await engine.unit(historyUnit, 'a').contents();
    await engine.close();
    const back = openFixture(archive, older);
    await back.engine.unit(historyUnit, 'a').add({ note: 'of another time' });
    await expect(back.engine.flushArchive()).rejects.toMatchObject({
      reason: 'archive_not_ours',
      message: expect.stringContaining('another copy of this data directory'),
    });
    expect(back.engine.archiveStatus().state).toBe('refused');
    expect(await contentsIn(archive)).toBe(contents);
  });

  test('may go on elsewhere, and then the first one may not', async () => {
    let nowMs = 1_800_000_000_000;
    const { archive, dataDirectory } = await archivedFixture();
    const moved = join(newDirectory(), 'data');
    cpSync(dataDirectory, moved, { recursive: true, preserveTimestamps: true });
    const first = openFixture(archive, dataDirectory, { now: () => nowMs });
    await first.engine.unit(historyUnit, 'a').add({ note: 'first' });
    const second = openFixture(archive, moved);
    await second.engine.unit(historyUnit, 'a').add({ note: 'second' });
    await second.engine.flushArchive();
    const contents = await second.engine.unit(historyUnit, 'a').contents();
    nowMs += 5_000;
    await expect(first.engine.flushArchive()).rejects.toMatchObject({ reason: 'archive_not_ours' });
    expect(await first.engine.ownsArchive()).toBe(false);
    expect(await contentsIn(archive)).toBe(contents);
  });

  test('is noticed although the clock of the first one was set back', async () => {
    let nowMs = 1_800_000_000_000;
    const { archive, dataDirectory } = await archivedFixture();
    const moved = join(newDirectory(), 'data');
    cpSync(dataDirectory, moved, { recursive: true, preserveTimestamps: true });
    const first = openFixture(archive, dataDirectory, { now: () => nowMs });
    await first.engine.unit(historyUnit, 'a').add({ note: 'first' });
    await first.engine.flushArchive();
    cpSync(join(dataDirectory, '.archive'), join(moved, '.archive'), { recursive: true });
    const second = openFixture(archive, moved);
    await second.engine.unit(historyUnit, 'a').add({ note: 'second' });
    await second.engine.flushArchive();
    nowMs -= 3_600_000;
    await first.engine.unit(historyUnit, 'a').add({ note: 'first again' });
    await expect(first.engine.flushArchive()).rejects.toMatchObject({ reason: 'archive_not_ours' });
  });

  test('of which a start was killed while it took the archive goes on', async () => {
    for (const arrives of [true, false]) {
      const { archive, dataDirectory } = await archivedFixture();
      const put = archive.put;
      const killed = openFixture(
        {
          ...archive,
          put: async (key, bytes) => {
            if (arrives) await put(key, bytes);
            throw new Error('killed');
          },
        },
        dataDirectory,
      );
      killed.engine.unit(historyUnit, 'a');
      await expect(killed.engine.flushArchive()).rejects.toThrow('killed');
      await killed.engine.close();
      const { engine } = openFixture(archive, dataDirectory);
      await engine.unit(historyUnit, 'a').add({ note: 'goes on' });
      await engine.flushArchive();
      expect(engine.archiveStatus().state).toBe('current');
      await engine.close();
    }
  });
});

test('an archive with data and without an owner is continued by no directory', async () => {
  const { archive } = await archivedFixture();
  archive.objects.delete('owner');
  const before = new Map(archive.objects);
  const { engine } = openFixture(archive);
  await engine.unit(historyUnit, 'a', create).add({ note: 'new' });
  await expect(engine.flushArchive()).rejects.toMatchObject({ reason: 'archive_not_ours' });
  expect(archive.objects).toEqual(before);
});

test('a directory that an earlier version archived goes on, and so does one that was restored', async () => {
  const { archive, dataDirectory, contents } = await archivedFixture();
  // An earlier version kept neither terms nor a record of units.
  rmSync(join(dataDirectory, '.archive', 'shipped'), { recursive: true });
  rmSync(join(dataDirectory, '.archive', 'term'));
  const { putObject } = await import('../src/archive/objects.ts');
  const id = new TextEncoder().encode('0123456789abcdef0123456789abcdef');
  writeFileSync(join(dataDirectory, '.archive', 'id'), id);
  await putObject(archive, 'owner', id);
  // The data directory may be the root of a disk.
  mkdirSync(join(dataDirectory, 'lost+found'));
  writeFileSync(join(dataDirectory, 'lost+found', 'x.sqlite'), '');
  const { engine } = openFixture(archive, dataDirectory);
  expect(readdirSync(join(dataDirectory, '.archive', 'shipped')).sort()).toEqual([
    'scope-history.a',
    'vault.v',
  ]);
  await engine.unit(historyUnit, 'a').add({ note: 'upgraded' });
  await engine.flushArchive();
  expect(engine.archiveStatus().state).toBe('current');
  await engine.close();

  const into = join(newDirectory(), 'data');
  await restoreDataDirectory({ archive, into });
  const heir = openFixture(archive, into);
  await heir.engine.unit(historyUnit, 'a').add({ note: 'restored' });
  await heir.engine.flushArchive();
  expect(await contentsIn(archive)).not.toBe(contents);
  rmSync(join(into, 'vault'), { recursive: true });
  await expect(heir.engine.unit(vaultUnit, 'w', create).list()).resolves.toEqual([]);
});

test('a restore has what the old directory archived until the archive was taken from it', async () => {
  const { engine, archive } = openFixture(breakableArchive());
  const unit = engine.unit(historyUnit, 'a', create);
  await unit.add({ note: 'one' });
  await engine.unit(vaultUnit, 'v', create).put({ value: 'a key' });
  await engine.flushArchive();
  const put: typeof archive.put = async (key, bytes) => {
    await unit.add({ note: 'two' });
    await engine.unit(historyUnit, 'b', create).add({ note: 'new' });
    await engine.unit(vaultUnit, 'v').put({ value: 'another key' });
    await engine.flushArchive();
    await archive.put(key, bytes);
  };
  const into = join(newDirectory(), 'data');
  expect(await restoreDataDirectory({ archive: { ...archive, put }, into })).toEqual({
    units: 3,
    skipped: [],
  });
  const heir = openPlain(into);
  expect(await heir.unit(historyUnit, 'a').contents()).toBe(await unit.contents());
  expect(await heir.unit(historyUnit, 'b').count()).toBe(1);
  expect(await heir.unit(vaultUnit, 'v').list()).toEqual(['a key', 'another key']);
});

test('a unit that a restore left out may be made anew, and replaces its damaged copy', async () => {
  const { archive } = await archivedFixture();
  const base = [...archive.objects.keys()].find((key) => /scope-history\/a\/history\/base/.test(key)) ?? '';
  archive.objects.set(base, new Uint8Array(10));
  const into = join(newDirectory(), 'data');
  expect(await restoreDataDirectory({ archive, into, skipDamaged: true })).toMatchObject({ units: 1 });
  const { engine } = openFixture(archive, into);
  await engine.unit(historyUnit, 'a', create).add({ note: 'anew' });
  await engine.flushArchive();
  expect(await contentsIn(archive)).toBe(await engine.unit(historyUnit, 'a').contents());
});

test('a lost unit that was given up is made anew, and replaces its copy', async () => {
  const { archive, dataDirectory } = await archivedFixture();
  rmSync(join(dataDirectory, 'vault'), { recursive: true });
  giveUpUnit(dataDirectory, { kind: 'vault', key: 'v' });
  const { engine } = openFixture(archive, dataDirectory);
  await engine.unit(vaultUnit, 'v', create).put({ value: 'a new key' });
  await engine.flushArchive();
  expect(
    await openPlain(await restored(archive))
      .unit(vaultUnit, 'v')
      .list(),
  ).toEqual(['a new key']);
});

test('a unit that can be made anew from others is in no archive, and is made anew', async () => {
  const derived = { ...vaultUnit, kind: 'marks', copies: 'derived' as const };
  const { engine, archive, dataDirectory } = openFixture(breakableArchive());
  await engine.unit(derived, 'm', create).put({ value: 'a mark' });
  await engine.flushArchive();
  await engine.close();
  expect([...archive.objects.keys()].filter((key) => key.includes('marks'))).toEqual([]);
  rmSync(join(dataDirectory, 'marks'), { recursive: true });
  const again = openFixture(archive, dataDirectory);
  expect(await again.engine.unit(derived, 'm', create).list()).toEqual([]);
  expect(existsSync(join(dataDirectory, 'marks', 'm.sqlite'))).toBe(true);
});
