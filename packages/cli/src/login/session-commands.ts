/** `freehold logout` and `freehold whoami`. */
import { PlatformError } from '@freehold/contracts';
import { z } from 'zod';
import { command } from '../command.ts';
import { loadConfig, profileName, saveConfig } from '../settings/profiles.ts';
import { makeReach, noProfile, PROFILE_OPTION, requireTarget } from '../settings/target.ts';
import { discover, OAuthRefusal, postForm } from './authorization-server.ts';
import { whoIs, whoText } from './who.ts';

const input = z.strictObject({ profile: profileName.optional() });

export const logoutCommand = command({
  path: ['logout'],
  summary: 'Sign out: revoke the token, and forget it',
  description: [
    'Revokes the token of a profile at its control plane, and then forgets it here. The address stays. When the control',
    'plane cannot be reached, nothing is forgotten: try again, or freehold profile remove forgets without revoking.',
  ].join('\n'),
  examples: [{ line: 'freehold logout --profile staging', does: 'signs out there' }],
  arguments: [],
  options: PROFILE_OPTION,
  input,
  run: async ({ profile: named }, world) => {
    const { configDirectory, env } = world;
    const { current, profiles } = loadConfig(configDirectory);
    const name = named ?? (env.FREEHOLD_PROFILE || current) ?? '';
    const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
    if (!found) throw noProfile(name, Object.keys(profiles));
    const { url, token } = found;
    if (token === undefined)
      return { value: { profile: name, revoked: false }, text: `Nobody was signed in at ${url}.` };
    const reach = { fetch: makeReach({ url }, world), signal: world.interrupted };
    const { revocation_endpoint } = await discover(url, reach, reach.signal);
    await postForm(revocation_endpoint, { token }, reach).catch((error: unknown) => {
      throw error instanceof OAuthRefusal
        ? new PlatformError('forbidden', 'The control plane refused to revoke the token: it is kept.')
        : error;
    });
    const config = loadConfig(configDirectory);
    saveConfig(configDirectory, { ...config, profiles: { ...config.profiles, [name]: { url } } });
    return { value: { profile: name, revoked: true }, text: `Signed out at ${url}.` };
  },
});

export const whoamiCommand = command({
  path: ['whoami'],
  summary: 'Tell who is signed in, and where',
  description:
    'Asks the control plane whose token it is that would be used, and says which role it has at the moment.',
  examples: [{ line: 'freehold whoami', does: 'tells the name, the role and the address' }],
  arguments: [],
  options: PROFILE_OPTION,
  input,
  run: async ({ profile }, world) => {
    const target = requireTarget(world, profile);
    const reach = { fetch: makeReach(target, world), signal: world.interrupted };
    const who = await whoIs(target, reach);
    return {
      value: { ...who, url: target.url, profile: target.profile },
      text: `${whoText(who)} at ${target.url}${target.profile === null ? '' : `, by the profile ${target.profile}`}`,
    };
  },
});
