/** What the groups of the documentation are about. */

/** Tag → one sentence. A test holds that no tag of the table is missing. */
export const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  Tenants: 'A tenant is a customer of the platform.',
  Scopes: 'A scope is one instance of a vertical for one tenant, with a database of its own.',
  'Scope data': 'Reads of what a scope holds. Reads by staff are written to the access log.',
  'Owner seat': 'Who owns a scope’s application, and the link with which the owner claims it.',
  Verticals: 'A vertical is an application: its versions, which one serves, and how it is offered.',
  'Platform grants': 'What the platform lets a vertical do beyond its own scopes.',
  Hostnames: 'Host names, and the scopes they lead to.',
  Connections: 'A tenant’s accounts with other systems, and where they may act. Credentials are never shown.',
  Roles: 'Roles that the platform adds to those that verticals declare.',
  Logs: 'The admin log, which is append-only and hash-chained, and the access log.',
  Operations: 'What the platform’s own work came to: failures, and the units that sweeps went over.',
  Issues: 'Errors that nobody expected, one line for each kind, and what staff decided about them.',
  Usage: 'What tenants use, and what the model calls of their scopes cost.',
  'Long work': 'Work that goes on when its call was answered: how far it is, and what came of it.',
  Backups: 'Copies outside of the platform’s own data, and the way back from them.',
  Erasure: 'The end of what is known about one person, with a receipt.',
  Fleet: 'What concerns the scopes of every tenant at once.',
  Staff: 'Who works for the platform, who builds for its tenants, and the tokens that their programs hold.',
  Observability: 'What verticals did, by script and by tenant, and which script is which version.',
  'Service tokens': 'Tokens with which software of the platform’s operator works.',
  'Push tokens': 'Tokens with which a tenant’s builder works.',
  'Consent rounds': 'How a vertical’s people connect an account at a provider’s own consent page.',
  'Sign-in': 'How staff sign in and out with a browser. Served where an issuer is configured for them.',
  Programs:
    'How the programs of staff get a token, and the tools for theirs. Served where this API knows its own origin.',
  Service: 'Health, and what this API says about itself. Open to anybody.',
};
