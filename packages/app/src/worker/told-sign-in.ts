/** The sign-in of a deployed application: the platform judges the caller of each request, and says so beside it. */
import { resolveSettings } from '@freehold/auth';
import { type EnvSpec, fromFailure, PlatformError } from '@freehold/contracts';
import type { AppContext, SignIn, SignIns } from '../declaration/env.ts';
import { configException } from '../request/sign-in.ts';
import type { HostedCaller, HostedConfiguration, PlatformCapability } from './capabilities.ts';

type Told = Extract<HostedCaller, { ok: true }>;

/**
 * Makes the sign-ins of one instance. The delivered settings are read once for each of their versions.
 * @throws (each call) the failure that the platform told.
 */
export function makeToldSignIns(
  platform: Pick<PlatformCapability, 'configuration'>,
  envSpec: EnvSpec,
): SignIns {
  let known: { readonly version: string; readonly config: HostedConfiguration['config'] } | null = null;
  const configOf = async (version: string): Promise<HostedConfiguration['config']> => {
    if (known?.version === version) return known.config;
    const read = await platform.configuration();
    if (!read.ok) throw fromFailure(read.failure);
    known = read.value as HostedConfiguration;
    return known.config;
  };
  const find = async (c: AppContext): Promise<SignIn> => {
    const told = toldIn(c);
    const config = await configOf(told.version);
    return signInOf(told, resolveSettings({ config, env: c.env, envSpec }));
  };
  return Object.assign(find, {
    recognise: async (c: AppContext) => {
      const { subject, principal, grant } = toldIn(c);
      return { signIn: await find(c), subject, principal, grant };
    },
    forget: () => {
      known = null;
    },
  });
}

function toldIn(c: AppContext): Told {
  const { caller } = c.env;
  if (!caller) throw new PlatformError('unauthenticated', 'Sign in first.');
  if (!caller.ok) throw configException(fromFailure(caller.failure));
  return caller;
}

function signInOf(
  { subject, signIn: { authorizationServers, ...shown } }: Told,
  settings: SignIn['settings'],
): SignIn {
  const handle = async (): Promise<Response> => {
    throw new PlatformError('not_found', 'The platform answers what is below this address.');
  };
  return {
    ...shown,
    settings,
    handle,
    provider: {
      handle,
      resolve: async () => subject,
      ...(authorizationServers === undefined ? {} : { authorizationServers }),
    },
  };
}
