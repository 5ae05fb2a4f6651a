/** The development issuer's public surface. */
export type { IssuerClient } from './clients.ts';
export { IssuerError, type IssuerErrorCode } from './errors.ts';
export { generateIssuerKeys, type IssuerKeys } from './keys.ts';
export { type Person, seededPeople } from './people/people.ts';
export { type Issuer, type IssuerOptions, startIssuer } from './start-issuer.ts';
