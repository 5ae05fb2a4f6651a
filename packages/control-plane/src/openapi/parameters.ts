/** What the parameters of paths mean, once for all: a declaration says more only where it means something else. */

/** Parameter of a path → what it names. A test holds that none is missing. */
export const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  tenant: 'The tenant’s id',
  scope: 'The scope’s id',
  slug: 'The vertical’s slug',
  id: 'The id of the vertical’s version',
  channel: 'The channel’s name',
  backup: 'The backup’s id',
  snapshot: 'The snapshot’s id',
  connection: 'The connection’s id',
  identity: 'The id of the tenant’s identity',
  key: 'The key',
  member: 'The id of the member of the roster',
  operation: 'The id of the long work',
  token: 'The token’s id, which is no secret',
  event: 'The event’s id',
  invocation: 'The invocation’s id',
  table: 'The table’s name',
  hostname: 'The host name',
  subject: 'The id of the person',
};
