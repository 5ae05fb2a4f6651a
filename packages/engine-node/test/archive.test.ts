/** A data directory comes back from its archive: at the last commit that was shipped, or not at all. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../testkit/src/index.ts';
import { openNodeEngine, restoreDataDirectory } from '../src/index.ts';
import { breakableArchive, newDirectory, openFixture, openPlain, restored } from './archive-fixture.ts';
import { historyUnit } from './history-unit.ts';
import { ledgerUnit } from './ledger-unit.ts';
import { vaultUnit } from './vault-unit.ts';

const create = { create: true };

describe('what was shipped', () => {
  test('is the same afterwards, every unit with its history and its snapshots', async () => {
    const { engine, archive } = openFixture(breakableArchive());
    const units = ['a', 'b'].map((key) => engine.unit(historyUnit, key, create));
    for (let i = 0; i < 30; i++)
      for (const unit of units) await unit.add({ note: `entry ${i}`, rows: 3, bytes: 900 });
    const tools = engine.tools(historyUnit, 'a');
    await tools.snapshot({ id: 'snp_1', name: 'one' });
    await units[0]?.add({ note: 'last' });
    await engine.unit(ledgerUnit, 'plain', create).add();
    await engine.flushArchive();
    expect(engine.archiveStatus()).toMatchObject({ state: 'current', units: 0, lagMs: 0, failures: 0 });

    const again = openPlain(await restored(archive));
    for (const [i, key] of ['a', 'b'].entries())
      expect(await again.unit(historyUnit, key).contents()).toBe(await units[i]?.contents());
    expect(await again.unit(ledgerUnit, 'plain').ids()).toEqual([1]);
    const before = await tools.bookmarks({ limit: 1_000 });
    const page = await again.tools(historyUnit, 'a').bookmarks({ limit: 1_000 });
    expect(page).toEqual(before);
    await again.tools(historyUnit, 'a').rewind({ bookmark: page.items[20]?.bookmark ?? '' });
    await tools.rewind({ bookmark: page.items[20]?.bookmark ?? '' });
    expect(await again.unit(historyUnit, 'a').contents()).toBe(await units[0]?.contents());
    expect(await again.tools(historyUnit, 'a').snapshots()).toEqual(await tools.snapshots());
    await (await again.tools(historyUnit, 'a').openSnapshot('snp_1')).body.cancel();
  });

  test('is all there is: a later commit is missing', async () => {
    const { engine, archive } = openFixture(breakableArchive());
    const unit = engine.unit(historyUnit, 'a', create);
    await unit.add({ note: 'shipped' });
    await engine.flushArchive();
    const shipped = await unit.contents();
    await unit.add({ note: 'not shipped' });
    expect(engine.archiveStatus()).toMatchObject({ state: 'shipping', units: 1 });
    expect(
      await openPlain(await restored(archive))
        .unit(historyUnit, 'a')
        .contents(),
    ).toBe(shipped);
  });

  test('goes by itself, soon after a commit, and when the engine closes', async () => {
    const archive = breakableArchive();
    const { engine } = openFixture(archive, newDirectory(), { archive: { archive, intervalMs: 1 } });
    const unit = engine.unit(historyUnit, 'a', create);
    await unit.add({ note: 'one' });
    await expect.poll(() => engine.archiveStatus().state).toBe('current');
    expect([...archive.objects.keys()].some((key) => key.startsWith('units/scope-history/a/tail/'))).toBe(
      true,
    );
    await unit.add({ note: 'two' });
    const contents = await unit.contents();
    await engine.close();
    expect(
      await openPlain(await restored(archive))
        .unit(historyUnit, 'a')
        .contents(),
    ).toBe(contents);
  });

  test('includes units that were not used since the archive was set up', async () => {
    const dataDirectory = newDirectory();
    const plain = openPlain(dataDirectory);
    await plain.unit(historyUnit, 'old', create).add({ note: 'old' });
    await plain.unit(ledgerUnit, 'old', create).add();
    await plain.close();
    const { engine, archive } = openFixture(breakableArchive(), dataDirectory);
    await engine.unit(historyUnit, 'new', create).add({ note: 'new' });
    engine.unit(ledgerUnit, 'another');
    await engine.flushArchive();
    const again = openPlain(await restored(archive));
    expect(await again.unit(historyUnit, 'old').count()).toBe(1);
    expect(await again.unit(ledgerUnit, 'old').ids()).toEqual([1]);
  });

  test('of random lives is exactly what there was when it was shipped last', {
    timeout: 120_000,
  }, async () => {
    const step = fc.constantFrom(
      'add',
      'big',
      'flush',
      'reopen',
      'rewind',
      'remove',
      'fail',
      'sweep' as const,
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 20 }), async (steps) => {
        const archive = breakableArchive();
        let fixture = openFixture(archive);
        const unit = () => fixture.engine.unit(historyUnit, 'a', create);
        await unit().add({ note: 'first' });
        let shipped: string | null = null;
        for (const each of steps) {
          if (each === 'add') await unit().add({ note: 'add', rows: 4, bytes: 700 });
          else if (each === 'big') await unit().add({ note: 'big', rows: 30, bytes: 5_000 });
          else if (each === 'flush') {
            archive.fails = null;
            await fixture.engine.flushArchive();
            shipped = await unit().contents();
          } else if (each === 'fail') archive.fails = new Error('the store is away');
          else if (each === 'reopen') {
            archive.fails = null;
            await unit().count();
            await fixture.engine.close();
            fixture = openFixture(archive, fixture.dataDirectory);
            shipped = await unit().contents();
          } else if (each === 'sweep') await fixture.engine.sweepHistory(historyUnit, 'a');
          else if (each === 'rewind') {
            const { items } = await fixture.engine.tools(historyUnit, 'a').bookmarks({ limit: 100 });
            await fixture.engine.tools(historyUnit, 'a').rewind({ bookmark: items.at(-1)?.bookmark ?? '' });
          } else {
            await fixture.engine.tools(historyUnit, 'a').remove();
            await unit().add({ note: 'again' });
          }
        }
        archive.fails = null;
        if (shipped !== null && steps.lastIndexOf('flush') > steps.lastIndexOf('remove')) {
          const found = await openPlain(await restored(archive))
            .unit(historyUnit, 'a')
            .contents();
          expect(found).toBe(shipped);
        }
        await fixture.engine.flushArchive();
        const now = await openPlain(await restored(archive))
          .unit(historyUnit, 'a')
          .contents();
        expect(now).toBe(await unit().contents());
        await fixture.engine.close();
      }),
      { numRuns: Number(process.env.HISTORY_RUNS ?? runs(12)) },
    );
  });
});

describe('a store that is away', () => {
  test('holds no caller up, is reported once, and is caught up with', async () => {
    const { engine, archive, incidents } = openFixture(breakableArchive());
    archive.fails = new Error('the store is away');
    const unit = engine.unit(historyUnit, 'a', create);
    for (let i = 0; i < 40; i++) await unit.add({ note: `entry ${i}`, rows: 3 });
    await expect(engine.flushArchive()).rejects.toThrow('the store is away');
    await expect(engine.flushArchive()).rejects.toThrow('the store is away');
    expect(engine.archiveStatus()).toMatchObject({
      state: 'failing',
      failures: 2,
      lastError: 'the store is away',
    });
    expect(engine.archiveStatus().lagMs).toBeGreaterThanOrEqual(0);
    expect(incidents).toHaveLength(1);
    archive.fails = null;
    await engine.flushArchive();
    expect(engine.archiveStatus()).toMatchObject({ state: 'current', failures: 0, lastError: null });
    expect(
      await openPlain(await restored(archive))
        .unit(historyUnit, 'a')
        .contents(),
    ).toBe(await unit.contents());
  });
});

describe('a unit of which there are no copies', () => {
  test('is there with its present contents only, sealed', async () => {
    const flip = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0x5a);
    const { engine, archive, dataDirectory } = openFixture(breakableArchive(), newDirectory(), {
      sealArchive: flip,
    });
    const vault = engine.unit(vaultUnit, 'v', create);
    await vault.put({ value: 'the first secret of all' });
    await engine.flushArchive();
    const first = archive.objects.get('units/vault/v/present');
    await vault.drop();
    await vault.put({ value: 'another' });
    await engine.flushArchive();
    expect([...archive.objects.keys()].filter((key) => key.startsWith('units/vault/'))).toEqual([
      'units/vault/v/present',
    ]);
    expect(archive.objects.get('units/vault/v/present')).not.toEqual(first);
    for (const bytes of archive.objects.values())
      expect(Buffer.from(bytes).includes('SQLite format 3')).toBe(false);
    expect(readdirSync(join(dataDirectory, 'vault'))).not.toContain('v.history');
    const again = openPlain(await restored(archive, { openArchive: flip }));
    expect(await again.unit(vaultUnit, 'v').list()).toEqual(['another']);
    await expect(restored(archive)).rejects.toMatchObject({
      reason: 'archive_damaged',
      message: expect.stringContaining('units/vault/v/present'),
    });
  });
});

describe('what is damaged in the archive', () => {
  const shippedFixture = async () => {
    const fixture = openFixture(breakableArchive(), newDirectory(), { logFramesMax: 1_000 });
    for (const key of ['a', 'b']) {
      const unit = fixture.engine.unit(historyUnit, key, create);
      for (let i = 0; i < 12; i++) {
        await unit.addRandom({ bytes: 120_000 });
        if (i % 3 === 2) await fixture.engine.sweepHistory(historyUnit, key);
      }
      for (let i = 0; i < 2; i++) {
        await fixture.engine.flushArchive();
        await unit.add({ note: `last ${i}` });
      }
      await fixture.engine.flushArchive();
    }
    return fixture;
  };
  const keysOf = (objects: ReadonlyMap<string, Uint8Array>) =>
    [...objects.keys()].filter((key) => key.startsWith('units/scope-history/a/'));

  test('is named and refused, whichever object it is and whatever happened to it', {
    timeout: 60_000,
  }, async () => {
    const { archive } = await shippedFixture();
    const whole = new Map(archive.objects);
    const keys = keysOf(whole);
    expect(new Set(keys.map((key) => key.split('/')[3]))).toEqual(new Set(['history', 'tail']));
    expect(keys.filter((key) => key.includes('/tail/')).length).toBe(2);
    const spoil: readonly ((bytes: Uint8Array) => Uint8Array)[] = [
      (bytes) => bytes.with(bytes.length - 10, (bytes.at(-10) ?? 0) ^ 1),
      (bytes) => bytes.with(80, (bytes[80] ?? 0) ^ 1),
      (bytes) => bytes.slice(0, -1),
      () => new Uint8Array(),
      // Another object of the same sort in its place.
      (bytes) => [...whole.values()].find((other) => other !== bytes && other.length > 500) ?? bytes,
    ];
    for (const key of keys) {
      for (const each of spoil) {
        const damaged = breakableArchive();
        for (const [name, bytes] of whole) damaged.objects.set(name, bytes);
        damaged.objects.set(key, each(whole.get(key) as Uint8Array));
        await expect(restored(damaged)).rejects.toMatchObject({
          code: 'unavailable',
          reason: 'archive_damaged',
          message: expect.stringContaining(key),
        });
      }
    }
  });

  test('when something in the middle is missing, is refused too', async () => {
    const { archive, engine } = await shippedFixture();
    const [, ...segments] = keysOf(archive.objects).filter((key) => key.endsWith('.fhs'));
    const [tail] = keysOf(archive.objects).filter((key) => key.includes('/tail/'));
    expect(tail).toBeDefined();
    expect(segments.length).toBeGreaterThanOrEqual(3);
    for (const key of [...segments.slice(0, -1), tail as string]) {
      const damaged = breakableArchive();
      for (const [name, bytes] of archive.objects) if (name !== key) damaged.objects.set(name, bytes);
      await expect(restored(damaged)).rejects.toMatchObject({ reason: 'archive_damaged' });
    }
    expect(await engine.unit(historyUnit, 'a').count()).toBe(14);
  });

  test('can be left out with its unit, and the others come back', async () => {
    const { archive, engine } = await shippedFixture();
    const key = keysOf(archive.objects).find((each) => each.endsWith('.fhs')) ?? '';
    archive.objects.set(key, new Uint8Array(100));
    const into = join(newDirectory(), 'data');
    const report = await restoreDataDirectory({ archive, into, skipDamaged: true });
    expect(report).toMatchObject({
      units: 1,
      skipped: [{ kind: 'scope-history', key: 'a', why: expect.stringContaining(key) }],
    });
    const again = openPlain(into);
    expect(await again.unit(historyUnit, 'b').contents()).toBe(
      await engine.unit(historyUnit, 'b').contents(),
    );
    await expect(again.unit(historyUnit, 'a').contents()).rejects.toMatchObject({ reason: 'unknown_unit' });
  });
});

describe('one data directory an archive', () => {
  test('a new disk with the old settings sends nothing, until it was restored; then the old one sends no more', async () => {
    let nowMs = 1_800_000_000_000;
    const { engine, archive } = openFixture(breakableArchive(), newDirectory(), { now: () => nowMs });
    await engine.unit(historyUnit, 'a', create).add({ note: 'precious' });
    await engine.flushArchive();
    const before = new Map(archive.objects);
    const anonymous = openFixture(archive);
    await anonymous.engine.unit(historyUnit, 'a', create).add({ note: 'empty' });
    await expect(anonymous.engine.flushArchive()).rejects.toMatchObject({ reason: 'archive_not_ours' });
    expect(anonymous.engine.archiveStatus().state).toBe('refused');
    expect(archive.objects).toEqual(before);

    const into = join(newDirectory(), 'data');
    expect(await restoreDataDirectory({ archive, into })).toEqual({ units: 1, skipped: [] });
    const heir = openFixture(archive, into);
    await heir.engine.unit(historyUnit, 'a').add({ note: 'goes on' });
    await heir.engine.flushArchive();
    nowMs += 60_000;
    await engine.unit(historyUnit, 'a').add({ note: 'the old one goes on' });
    await expect(engine.flushArchive()).rejects.toMatchObject({ reason: 'archive_not_ours' });
    expect(
      await openPlain(await restored(archive))
        .unit(historyUnit, 'a')
        .count(),
    ).toBe(2);
  });

  test('a directory that is being restored is not opened, and a restore that was interrupted is begun again', async () => {
    const { engine, archive } = openFixture(breakableArchive());
    const unit = engine.unit(historyUnit, 'a', create);
    await unit.add({ note: 'one' });
    await engine.flushArchive();
    const into = join(newDirectory(), 'data');
    let calls = 0;
    const breaking = {
      ...archive,
      get: async (key: string) => {
        calls += 1;
        if (calls > 2) throw new Error('the network is gone');
        return archive.get(key);
      },
    };
    await expect(restoreDataDirectory({ archive: breaking, into })).rejects.toThrow('the network is gone');
    const open = () => openNodeEngine({ dataDirectory: into, onIncident: () => undefined });
    expect(open).toThrow(expect.objectContaining({ reason: 'data_directory_unfinished' }));
    const owner = archive.objects.get('owner');
    const complete = () => Promise.reject(new Error('the disk is full'));
    await expect(restoreDataDirectory({ archive, into, complete })).rejects.toThrow('the disk is full');
    expect(open).toThrow(expect.objectContaining({ reason: 'data_directory_unfinished' }));
    expect(archive.objects.get('owner')).toBe(owner);
    await restoreDataDirectory({ archive, into });
    expect(await openPlain(into).unit(historyUnit, 'a').contents()).toBe(await unit.contents());
  });

  test('a restore overwrites nothing', async () => {
    const into = newDirectory();
    writeFileSync(join(into, 'something'), '');
    await expect(restoreDataDirectory({ archive: breakableArchive(), into })).rejects.toMatchObject({
      reason: 'directory_not_empty',
    });
  });
});

test('a unit that is removed is removed from the archive too, also after a restart', async () => {
  const { engine, archive, dataDirectory } = openFixture(breakableArchive());
  for (const key of ['a', 'b']) await engine.unit(historyUnit, key, create).add({ note: key });
  await engine.flushArchive();
  archive.fails = new Error('the store is away');
  await engine.tools(historyUnit, 'a').remove();
  await expect(engine.flushArchive()).rejects.toThrow();
  await engine.close();
  archive.fails = null;
  const again = openFixture(archive, dataDirectory);
  await again.engine.flushArchive();
  const keys = [...archive.objects.keys()];
  expect(keys.filter((key) => key.includes('/a/'))).toEqual([]);
  expect(keys.filter((key) => key.includes('/b/')).length).toBeGreaterThan(0);
  await again.engine.unit(historyUnit, 'a', create).add({ note: 'anew' });
  await again.engine.flushArchive();
  const found = openPlain(await restored(archive));
  expect(await found.unit(historyUnit, 'a').count()).toBe(1);
  expect(existsSync(join(dataDirectory, '.archive', 'removed', 'scope-history.a'))).toBe(false);
});
