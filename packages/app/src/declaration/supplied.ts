/** The parts of a manifest that every application has without declaring them: permissions of the team, and the settings of sign-in and models. */
import type { EnvSpec, VerticalManifest } from '@freehold/contracts';

/** The permissions of the supplied routes. An application that declares one itself keeps its own words. */
export const TEAM_PERMISSIONS = {
  'team.read': 'See who is on the team',
  'member.manage': 'Invite and remove teammates, and change their roles',
  'audit.read': 'See which attempts were refused',
} as const;

/** Keeps the accounts of language models; for the service of {@link MODEL_SERVICE} alone. */
export const MODEL_PERMISSION = 'model.account';
/** The service between members and language models: it asks whether a call may be made, and records its tokens. */
export const MODEL_SERVICE = 'assistant';

const SIGN_IN_SETTINGS: EnvSpec = {
  AUTH_PROVIDER: {
    summary:
      'How people sign in where no issuer was delivered: "oidc" takes access tokens of OIDC_ISSUER, "directory" keeps accounts here',
  },
  SIGN_UP: {
    summary:
      'Who may make an account where accounts are kept here: "open" for every visitor, "closed" for none',
    default: 'open',
  },
  OIDC_ISSUER: { summary: 'The identity issuer to sign in with' },
  OIDC_CLIENT_ID: { summary: 'The name under which the issuer knows this application' },
  OIDC_CLIENT_SECRET: { summary: 'The secret shared with the issuer', secret: true },
  OIDC_AUDIENCE: { summary: 'Who a presented access token must be for; by default this very instance' },
  BASE_URL: {
    summary: 'The address people reach this application at, when it cannot be told from the request',
  },
};

/** Which model; what it takes to reach one (addresses, keys) is the platform's own and never delivered (spec D-21). */
const MODEL_SETTINGS: EnvSpec = {
  FREEHOLD_MODEL: { summary: 'The language model to ask, such as "openai-compatible:llama3.2:3b"' },
  FREEHOLD_MODEL_ACCESS: {
    summary:
      'Who may use the language model: "all", or "entitled" for those with the entitlement "assistant"',
    default: 'all',
  },
  FREEHOLD_MODEL_TOKENS_MONTHLY: {
    summary:
      'How many tokens an instance may take in a calendar month (UTC), where no entitlement says it; "none" for no limit',
    default: '1000000',
  },
};

/** The names of the settings about models that an instance may be delivered. */
export const MODEL_SETTING_NAMES: readonly string[] = Object.keys(MODEL_SETTINGS);

/**
 * The manifest with what is supplied. The owner role has the permissions of the team; other roles have those that they
 * name.
 */
export function completeManifest(manifest: VerticalManifest, usesModels: boolean): VerticalManifest {
  const owner = manifest.roles[manifest.ownerRole];
  const supplied = usesModels ? { [MODEL_PERMISSION]: 'Keep the accounts of what language models take' } : {};
  return {
    ...manifest,
    permissions: { ...TEAM_PERMISSIONS, ...supplied, ...manifest.permissions },
    roles: {
      ...manifest.roles,
      ...(owner === undefined
        ? {}
        : {
            [manifest.ownerRole]: {
              ...owner,
              permissions: [...new Set([...owner.permissions, ...Object.keys(TEAM_PERMISSIONS)])],
            },
          }),
    },
    ...(usesModels
      ? {
          services: {
            [MODEL_SERVICE]: { name: 'Assistant', permissions: [MODEL_PERMISSION] },
            ...manifest.services,
          },
        }
      : {}),
    env: { ...SIGN_IN_SETTINGS, ...(usesModels ? MODEL_SETTINGS : {}), ...manifest.env },
  };
}
