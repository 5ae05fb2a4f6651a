/** `freehold logout` and `freehold whoami`. */
import { PlatformError, problemSchema } from '@freehold/contracts';
import { ControlPlaneError } from '@freehold/control-plane/client';
import { z } from 'zod';
import { command } from '../lib/command.ts';
import type { World } from '../lib/world.ts';
import { discover, OAuthRefusal, postForm } from '../oauth/authorization-server.ts';
import { loadConfig, profileName, requireProfile, saveConfig } from '../settings/profiles.ts';
import { freshToken } from '../settings/renewal.ts';
import { makeReach, PROFILE_OPTION, requireTarget } from '../settings/target.ts';

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
    const before = loadConfig(configDirectory);
    const name = named ?? (env.FREEHOLD_PROFILE || before.current) ?? '';
    const { url, token, refresh } = requireProfile(before, name);
    if (token === undefined)
      return { value: { profile: name, revoked: false }, text: `No token was stored for ${url}.` };
    const reach = { fetch: makeReach({ url }, world), signal: world.interrupted };
    const { revocation_endpoint } = await discover(url, reach, reach.signal);
    // The refresh token ends the whole sign-in (RFC 7009, section 2.1).
    const form = refresh ? { token: refresh.token, client_id: refresh.client } : { token };
    await postForm(revocation_endpoint, form, reach).catch((error: unknown) => {
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
    const token = await freshToken(target, { ...world, fetch: reach.fetch });
    const who = await whoIs({ ...target, token }, reach);
    return {
      value: { ...who, url: target.url, profile: target.profile },
      text: `${whoText(who)} at ${target.url}${target.profile === null ? '' : `, by the profile ${target.profile}`}`,
    };
  },
});

const who = z.object({
  kind: z.string(),
  id: z.string(),
  name: z.string(),
  role: z.string().nullable(),
  tenant: z.string().nullable(),
});
export type Who = z.infer<typeof who>;

/**
 * Asks the control plane whose token this is.
 * @throws ControlPlaneError for its refusals, PlatformError for an answer of another form.
 */
export async function whoIs(
  { url, token }: { readonly url: string; readonly token: string },
  { fetch, signal }: Pick<World, 'fetch'> & { readonly signal: AbortSignal },
): Promise<Who> {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const response = await fetch(new Request(`${url}/auth/me`, { headers, redirect: 'manual', signal }));
  const answer: unknown = await response.json().catch(() => null);
  if (!response.ok) {
    const problem = problemSchema.safeParse(answer).data ?? null;
    const detail = problem?.detail ?? `${url} answered with status ${response.status}.`;
    throw new ControlPlaneError(detail, {
      status: response.status,
      problem,
      requestId: problem?.requestId ?? null,
    });
  }
  const parsed = who.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new PlatformError('unavailable', `${url} did not answer with an identity.`);
}

/** `Ada (staff, admin)`, `Bob (builder, tnt_…)`. */
export function whoText({ name, kind, role, tenant }: Who): string {
  const what = [kind, role === kind ? null : role, tenant];
  return `${name} (${what.filter((each) => each !== null).join(', ')})`;
}
