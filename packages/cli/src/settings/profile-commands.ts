/** `freehold profile …` lists the known control planes and chooses one. */
import { z } from 'zod';
import { type Command, command } from '../lib/command.ts';
import { listText, recordText } from '../output/table.ts';
import { loadConfig, profileName, requireProfile, saveConfig, shownProfile } from './profiles.ts';

const name = { name: 'profile', summary: 'Its name' };

const list = command({
  path: ['profile', 'list'],
  summary: 'List the profiles',
  description: 'A profile is the address of a control plane and a token for it. Tokens are never shown.',
  examples: [{ line: 'freehold profile list', does: 'shows them, and which one is in use' }],
  arguments: [],
  options: {},
  input: z.strictObject({}),
  run: (_, { configDirectory, output }) => {
    const { current, profiles } = loadConfig(configDirectory);
    const items = Object.entries(profiles).map(([each, profile]) => shownProfile(each, profile, current));
    const text = items.length === 0 ? 'There are no profiles.' : listText(items, output.columns);
    return { value: items, text };
  },
});

const use = command({
  path: ['profile', 'use'],
  summary: 'Choose the profile that is asked from now on',
  description: 'It is asked where neither --profile nor the environment says otherwise.',
  examples: [{ line: 'freehold profile use production', does: 'asks that control plane from now on' }],
  arguments: [name],
  options: {},
  input: z.strictObject({ profile: profileName }),
  run: ({ profile }, { configDirectory }) => {
    const config = loadConfig(configDirectory);
    const found = requireProfile(config, profile);
    saveConfig(configDirectory, { ...config, current: profile });
    return {
      value: shownProfile(profile, found, profile),
      text: `${profile} (${found.url}) is asked from now on.`,
    };
  },
});

const remove = command({
  path: ['profile', 'remove'],
  summary: 'Forget a profile',
  description:
    'Forgets the address and the token on this machine. The token goes on working until it ends: freehold logout revokes it.',
  examples: [{ line: 'freehold profile remove staging', does: 'forgets it' }],
  arguments: [name],
  options: {},
  input: z.strictObject({ profile: profileName }),
  run: ({ profile }, { configDirectory }) => {
    const config = loadConfig(configDirectory);
    requireProfile(config, profile);
    const { [profile]: _, ...rest } = config.profiles;
    saveConfig(configDirectory, {
      current: config.current === profile ? null : config.current,
      profiles: rest,
    });
    return { value: { removed: profile }, text: `${profile} is forgotten.` };
  },
});

const show = command({
  path: ['profile', 'show'],
  summary: 'Show one profile',
  description: 'Without a name, the one in use. The token is never shown.',
  examples: [{ line: 'freehold profile show production', does: 'shows its address, and who signed in' }],
  arguments: [{ ...name, optional: true }],
  options: {},
  input: z.strictObject({ profile: profileName.optional() }),
  run: ({ profile }, { configDirectory, env, output }) => {
    const config = loadConfig(configDirectory);
    const wanted = profile ?? (env.FREEHOLD_PROFILE || config.current) ?? '';
    const value = shownProfile(wanted, requireProfile(config, wanted), config.current);
    return { value, text: recordText(value, output.columns) };
  },
});

export const profileCommands: readonly Command[] = [list, use, remove, show];
