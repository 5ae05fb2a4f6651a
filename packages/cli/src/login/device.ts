/** Signs in with a browser on another machine: shows a code to type there, and polls for the decision (RFC 8628). */
import { PlatformError } from '@freehold/contracts';
import { z } from 'zod';
import type { World } from '../lib/world.ts';
import {
  type Granted,
  OAuthRefusal,
  postForm,
  processGrant,
  type ServerMetadata,
} from '../oauth/authorization-server.ts';

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** RFC 8628, sections 3.2 and 3.5. */
const INTERVAL_DEFAULT_S = 5;
const SLOW_DOWN_S = 5;

const started = z.object({
  device_code: z.string().min(1),
  user_code: z.string().regex(/^[A-Za-z0-9-]{4,20}$/),
  verification_uri: z.url(),
  expires_in: z.number().positive(),
  interval: z.number().positive().optional(),
});

/** @throws PlatformError when the member refused, or the code expired. */
export async function grantByDevice(
  server: ServerMetadata,
  world: World,
  signal: AbortSignal,
): Promise<Granted> {
  const endpoint = server.device_authorization_endpoint;
  if (endpoint === undefined)
    throw new PlatformError('unsupported', 'This control plane has no sign-in by code: leave --device out.');
  const reach = { fetch: world.fetch, signal };
  const answer = started.safeParse(await postForm(endpoint, {}, reach).catch(refusedStart));
  if (!answer.success)
    throw new PlatformError('unavailable', 'The control plane answered with something that is no code.');
  const { device_code, user_code, verification_uri, expires_in, interval = INTERVAL_DEFAULT_S } = answer.data;
  world.say(`Open ${verification_uri} and type the code ${user_code}`);
  const endMs = world.now() + expires_in * 1000;
  let waitS = interval;
  while (world.now() < endMs) {
    world.progress('Waiting for your decision …');
    await world.sleep(waitS * 1000, signal);
    try {
      return processGrant(
        await postForm(server.token_endpoint, { grant_type: DEVICE_GRANT, device_code }, reach),
      );
    } catch (error) {
      if (!(error instanceof OAuthRefusal)) throw error;
      if (error.code === 'slow_down') waitS += SLOW_DOWN_S;
      else if (error.code !== 'authorization_pending') throw ended(error.code);
    }
  }
  throw ended('expired_token');
}

function ended(code: string): PlatformError {
  if (code === 'access_denied') return new PlatformError('forbidden', 'You said no.');
  if (code === 'expired_token') return new PlatformError('unavailable', 'The code expired: start again.');
  return new PlatformError('forbidden', 'The control plane refused the code.');
}

function refusedStart(error: unknown): never {
  if (!(error instanceof OAuthRefusal)) throw error;
  throw error.code === 'temporarily_unavailable'
    ? new PlatformError('unavailable', 'Too many sign-ins have begun: try again in a minute.')
    : new PlatformError('forbidden', 'The control plane refused to give a code.');
}
