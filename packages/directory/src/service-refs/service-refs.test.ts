/** The scripts of each version, and that no two have one name. */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, STAFF } from '../../test/platform.ts';
import { admitted, promote, register } from '../../test/registry.ts';
import type { ServiceRef } from '../admin-operations.ts';
import { archiveScript, servingScript } from './script-names.ts';

const list = (platform: Platform, query: object = {}, as = STAFF) =>
  platform.value<{ items: ServiceRef[]; nextCursor: string | null }>('service-refs.list', {
    query: { ...query },
    as,
  });

async function openFixture() {
  // There is no telemetry: this read needs none.
  const platform = await openPlatform();
  const [a, b] = [await platform.tenant('a'), await platform.tenant('b')];
  for (const [slug, { id }] of [
    ['a-app', a],
    ['b-app', b],
  ] as const) {
    await platform.call('verticals.create', { body: { slug, name: `App ${slug}`, ownerTenant: id } });
    await admitted(platform, slug, '1.0.0');
    await register(platform, slug, '1.1.0');
  }
  await promote(platform, 'a-app', { version: '1.0.0' });
  return { platform, a, b };
}

describe('spec C-27', () => {
  test('each vertical has its serving script once something serves, and an archive script for each version', async () => {
    const { platform } = await openFixture();
    expect((await list(platform)).items).toEqual([
      {
        script: 'a-app',
        kind: 'serving',
        vertical: 'a-app',
        version: '1.0.0',
        label: 'App a-app 1.0.0 (serving)',
      },
      {
        script: 'a-app--1.0.0',
        kind: 'archive',
        vertical: 'a-app',
        version: '1.0.0',
        label: 'App a-app 1.0.0',
      },
      {
        script: 'a-app--1.1.0',
        kind: 'archive',
        vertical: 'a-app',
        version: '1.1.0',
        label: 'App a-app 1.1.0',
      },
      {
        script: 'b-app--1.0.0',
        kind: 'archive',
        vertical: 'b-app',
        version: '1.0.0',
        label: 'App b-app 1.0.0',
      },
      {
        script: 'b-app--1.1.0',
        kind: 'archive',
        vertical: 'b-app',
        version: '1.1.0',
        label: 'App b-app 1.1.0',
      },
    ]);
  });

  test('a builder sees those of its tenant; staff can narrow to one', async () => {
    const { platform, a, b } = await openFixture();
    const scripts = async (query: object, as = STAFF) =>
      (await list(platform, query, as)).items.map(({ script }) => script);
    const ours = ['a-app', 'a-app--1.0.0', 'a-app--1.1.0'];
    expect(await scripts({}, platform.builder(a.id) as typeof STAFF)).toEqual(ours);
    expect(await scripts({ tenant: a.id })).toEqual(ours);
    expect(await scripts({ tenant: b.id })).toEqual(['b-app--1.0.0', 'b-app--1.1.0']);
  });

  test('pages of any length show every script once, in order', async () => {
    const { platform } = await openFixture();
    const whole = (await list(platform)).items;
    for (const limit of [1, 2, 3]) {
      const seen: ServiceRef[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof list>> = await list(platform, {
          limit,
          ...(cursor === null ? {} : { cursor }),
        });
        expect(page.items.length).toBeLessThanOrEqual(limit);
        seen.push(...page.items);
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(seen).toEqual(whole);
    }
  });
});

test('no two scripts have one name, whatever hyphens a slug has', () => {
  const slugs = ['a', 'a--1', 'a-1', 'a--1--2', 'a1'];
  const versions = ['1.0.0', '2.1.0', '1.0.0-1', '1.0.0--2.0.0', '1.0.0+a--1.0.0'];
  const names = slugs.flatMap((slug) => [
    servingScript(slug),
    ...versions.map((version) => archiveScript(slug, version)),
  ]);
  expect(new Set(names).size).toBe(names.length);
});
