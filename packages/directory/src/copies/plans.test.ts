/** The plan of a rewind gives the present moment, and leads nowhere outside the window (requirement C-04). */
import { expect, test } from 'vitest';
import { openPlatform, refusal } from '../../test/platform.ts';

const commit = (n: number) => ({ bookmark: `bm_${n}`, at: `2026-11-21T08:0${n}:00.000Z` });

/** A scope whose history goes from the second commit to the fourth. */
async function open() {
  const platform = await openPlatform();
  platform.reach = 'local';
  const { id: scope, tenant } = await platform.scope((await platform.tenant('acme')).id);
  const bookmarksListed = [commit(4), commit(3), commit(2)];
  Object.assign(platform.fieldwork.local, {
    migrationBookmarksLocal: async ({ at, limit }: { at?: string; limit: number }) => ({
      items: bookmarksListed.filter((each) => at === undefined || each.at <= at).slice(0, limit),
      nextCursor: null,
      current: bookmarksListed[0],
      earliest: bookmarksListed.at(-1),
    }),
  });
  const plan = (body: Record<string, string>) =>
    platform.call('scopes.rewind', { params: { tenant, scope }, body, query: { dryRun: true } });
  return { platform, plan };
}

test.each([
  ['bm_2', 2, 120],
  ['bm_3', 1, 60],
  ['bm_4', 0, 0],
])('C-04: back to %s takes back %i commits and %i seconds', async (bookmark, count, seconds) => {
  const { plan } = await open();
  expect((await plan({ bookmark })).value).toMatchObject({
    dryRun: true,
    to: { bookmark, at: commit(Number(bookmark.at(-1))).at },
    current: commit(4),
    commits: { count, more: false },
    seconds,
    earliest: commit(2).at,
  });
});

test.each([
  ['bookmark', 'bm_1', 'older than what is kept'],
  ['bookmark', 'bm_5', 'newer than what there is'],
  ['at', '2026-11-21T08:01:59.999Z', 'before the first moment that is kept'],
])('C-04: %s %s is %s, and is not there', async (name, value) => {
  const { platform, plan } = await open();
  const rows = await platform.adminLog();
  expect(await refusal(plan({ [name]: value }))).toMatchObject({ status: 404, reason: 'unknown_bookmark' });
  expect(await platform.adminLog()).toEqual(rows);
});

test('C-04: a moment between two commits is the earlier one of them', async () => {
  const { plan } = await open();
  expect((await plan({ at: '2026-11-21T08:03:59.999Z' })).value).toMatchObject({
    to: commit(3),
    commits: { count: 1 },
  });
});
