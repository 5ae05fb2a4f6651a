/** Declares permissions, roles, entities and settings. */
import type { VerticalManifest } from '@freehold/contracts';

export const manifest = {
  slug: 'acme-notes',
  name: 'Acme Notes',
  version: '0.1.0',
  permissions: {
    'note.read': 'See notes',
    'note.write': 'Write notes and complete them',
  },
  roles: {
    owner: { name: 'Owner', permissions: ['note.read', 'note.write'] },
    member: { name: 'Member', permissions: ['note.read'] },
  },
  ownerRole: 'owner',
  entities: { note: {} },
  env: {
    AUTH_PROVIDER: { summary: 'Set to "oidc" to accept tokens of one fixed issuer' },
    OIDC_ISSUER: { summary: 'The identity issuer to sign in with' },
    OIDC_CLIENT_ID: { summary: 'The name under which the issuer knows this application' },
    OIDC_CLIENT_SECRET: { summary: 'The secret shared with the issuer', secret: true },
    OIDC_AUDIENCE: { summary: 'Who a presented access token must be for; by default this very instance' },
    BASE_URL: { summary: 'The address people reach this at, when it cannot be told from the request' },
  },
} as const satisfies VerticalManifest;
