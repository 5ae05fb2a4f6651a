/** `freehold rollback`: lets an earlier version of a vertical serve again, and moves its scopes back. */
import { PlatformError, slug } from '@freehold/contracts';
import type { Caller } from '@freehold/control-plane/client';
import { adminOperations } from '@freehold/directory/declarations';
import { z } from 'zod';
import { command } from '../lib/command.ts';
import { callerOf, PROFILE_OPTION, requireTarget } from '../settings/target.ts';
import { moveScopes, waveText } from './wave.ts';

export const rollbackCommand = command({
  path: ['rollback'],
  summary: 'Let an earlier version of a vertical serve again',
  description: [
    'Promotes an earlier version that is still here, and moves the scopes back to it. Without a version it is the newest one',
    'that was uploaded before the one that serves. A scope whose database was migrated by a newer version cannot be opened by',
    'the older one: it stays where it is and is named; the snapshot from before its migration is in freehold snapshots list.',
  ].join('\n'),
  examples: [
    { line: 'freehold rollback rental', does: 'to the version before the one that serves' },
    { line: 'freehold rollback rental 0.3.1', does: 'to that version' },
  ],
  arguments: [
    { name: 'vertical', summary: 'The slug of the vertical' },
    { name: 'version', summary: 'The version to go back to', optional: true },
  ],
  options: {
    acknowledgeMigrations: {
      kind: 'flag',
      summary: 'Accept that its migrations differ from those that serve',
    },
    ...PROFILE_OPTION,
  },
  input: z.strictObject({
    vertical: slug,
    version: z.string().optional(),
    acknowledgeMigrations: z.boolean().default(false),
    profile: z.string().optional(),
  }),
  run: async ({ vertical, version, acknowledgeMigrations, profile }, world) => {
    const call = callerOf(requireTarget(world, profile), world);
    const target = version ?? (await versionBefore(call, vertical));
    const { value } = await call(adminOperations['channels.promote'], {
      params: { slug: vertical, channel: 'prod' },
      body: { version: target, acknowledgeMigrations },
    });
    const wave = await moveScopes({ call, world }, vertical);
    return {
      value: { channel: value, wave },
      text: `${vertical} ${target} serves again.\n${waveText(wave)}`,
    };
  },
});

interface Listed {
  readonly version: string;
  readonly status: string;
  readonly uploadedAt: string | null;
  readonly serving: boolean;
}

/** Versions come newest first. @throws PlatformError `not_found` where there is none to go back to. */
async function versionBefore(call: Caller, vertical: string): Promise<string> {
  const { value } = await call(adminOperations['vertical-versions.list'], {
    params: { slug: vertical },
    query: { status: 'admitted', limit: 100 },
  });
  const { items } = value as { readonly items: readonly Listed[] };
  const serving = items.findIndex((each) => each.serving);
  const before = items.slice(serving + 1).find(({ uploadedAt }) => uploadedAt !== null);
  if (serving >= 0 && before) return before.version;
  throw new PlatformError(
    'not_found',
    `There is no earlier version of ${vertical} to go back to: see freehold vertical-versions list ${vertical}, and name one.`,
  );
}
