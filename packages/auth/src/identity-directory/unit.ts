/**
 * The identity directory: one unit per tenant, keyed by the tenant id, with that tenant's people, seats, invites,
 * settings and session secret, and nobody else's (spec 2.6).
 */
import { defineUnit, type UnitContext, type UnitDefinition, type UnitStub } from '@freehold/store';
import { makeAccountOperations } from '../accounts/operations.ts';
import { accountLinksMigration, accountsMigration } from '../accounts/schema.ts';
import { makeConfigOperations } from '../config/operations.ts';
import { configMigration, formerSecretsMigration } from '../config/schema.ts';
import { makeEventOperations } from '../events/operations.ts';
import { eventsMigration, refusalsMigration } from '../events/schema.ts';
import { newestEventId } from '../events/store.ts';
import { makeInviteOperations } from '../invites/operations.ts';
import { invitesMigration } from '../invites/schema.ts';
import { makePeopleOperations } from '../people/operations.ts';
import { peopleMigration } from '../people/schema.ts';
import { makeSeatOperations } from '../seats/operations.ts';
import { seatsMigration } from '../seats/schema.ts';
import { makeSessionOperations } from '../sessions/operations.ts';
import { sessionListMigration, sessionsMigration } from '../sessions/schema.ts';

type IdentityMethods = ReturnType<typeof openDirectory>;

/** A tenant's identity directory, from the outside. */
export type IdentityDirectory = UnitStub<IdentityMethods>;

/** The unit: `engine.unit(identityDirectory, tenantId, { create: true })`. */
export const identityDirectory: UnitDefinition<IdentityMethods> = defineUnit({
  kind: 'identity',
  migrations: [
    {
      name: 'identity',
      migrations: [
        eventsMigration,
        peopleMigration,
        seatsMigration,
        invitesMigration,
        configMigration,
        sessionsMigration,
        refusalsMigration,
        accountsMigration,
        sessionListMigration,
        formerSecretsMigration,
        accountLinksMigration,
      ],
    },
  ],
  queries: [
    'findPrincipal',
    'listMembers',
    'newPrincipal',
    'ownerSeat',
    'needsSetup',
    'listInvites',
    'showInvite',
    'sessionState',
    'listSessions',
    'getConfig',
    'readInstanceConfig',
    'listIdentityEvents',
    'showLink',
    'findPasskey',
    'accountSecurity',
    'findAccount',
  ],
  open: openDirectory,
});

function openDirectory(unit: UnitContext) {
  // Events are listed by id: they must keep increasing when the clock stepped back while the unit was closed.
  const newest = newestEventId(unit.db);
  if (newest !== undefined) unit.newId.observe(newest);
  return {
    ...makePeopleOperations(unit),
    ...makeSeatOperations(unit),
    ...makeInviteOperations(unit),
    ...makeConfigOperations(unit),
    ...makeSessionOperations(unit),
    ...makeEventOperations(unit),
    ...makeAccountOperations(unit),
  };
}
