/** Permissions, roles, kinds of records and settings. */
import type { VerticalManifest } from '@freehold/app';

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
    member: { name: 'Member', permissions: ['note.read', 'team.read'] },
  },
  ownerRole: 'owner',
  entities: { note: { read: 'note.read' } },
  env: {},
} satisfies VerticalManifest;
