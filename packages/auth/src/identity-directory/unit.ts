/**
 * The identity directory: one unit per tenant, keyed by the tenant id, with that tenant's people, seats, invites,
 * settings and session secret, and nobody else's (spec 2.6).
 */
import {
  defineUnit,
  type Keyring,
  type UnitContext,
  type UnitDefinition,
  type UnitStub,
} from '@freehold/store';
import { makeAccountOperations } from '../accounts/operations.ts';
import { accountLinksMigration, accountsMigration } from './migrations.ts';
import { makeConfigOperations } from '../config/operations.ts';
import { configMigration, formerSecretsMigration } from '../config/schema.ts';
import { makeEventOperations } from '../events/operations.ts';
import { eventsMigration, refusalsMigration } from '../events/schema.ts';
import { newestEventId } from '../events/store.ts';
import { makeForgetOperations } from './forget-scope.ts';
import { forgottenScopesMigration } from '../forgotten-scopes/schema.ts';
import { makeInviteOperations } from '../invites/operations.ts';
import { invitesMigration } from '../invites/schema.ts';
import { makePeopleOperations } from '../people/operations.ts';
import { formerMembersMigration, peopleMigration } from '../people/schema.ts';
import { makeSealingOperations } from './reseal.ts';
import { sealedSecretsMigration } from '../sealing/schema.ts';
import { makeSecretKeeper } from '../lib/secret-keeper.ts';
import { makeSeatOperations } from '../seats/operations.ts';
import { makeRecoveryOperations } from '../seats/recovery.ts';
import { recoveriesMigration, seatsMigration } from '../seats/schema.ts';
import { makeSessionOperations } from '../sessions/operations.ts';
import { sessionListMigration, sessionsMigration } from '../sessions/schema.ts';
import { makeRecogniseOperation } from './recognise.ts';

type IdentityMethods = ReturnType<typeof openDirectory>;

/** A tenant's identity directory, from the outside. */
export type IdentityDirectory = UnitStub<IdentityMethods>;

/** The unit: `engine.unit(unit, tenantId, { create: true })`. */
export type IdentityDirectoryUnit = UnitDefinition<IdentityMethods>;

export interface IdentityDirectoryOptions {
  /**
   * Seals what the directory has to know again: authenticator secrets, session secrets and delivered settings, each
   * bound to its tenant, table and row. Its first key seals, all open; what is in clear or under an older key is sealed
   * anew when an instance's configuration is read. Without a keyring they are kept in clear, which is for development:
   * an application that runs in production passes one, or refuses to start.
   */
  readonly sealing?: Keyring | undefined;
}

/**
 * Makes the unit. All who open the directories of one engine pass the same keyring: whoever opens a directory first
 * decides for the rest.
 */
export function makeIdentityDirectory(options: IdentityDirectoryOptions = {}): IdentityDirectoryUnit {
  return defineUnit({
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
          sealedSecretsMigration,
          formerMembersMigration,
          forgottenScopesMigration,
          recoveriesMigration,
        ],
      },
    ],
    queries: [
      'findPrincipal',
      'listMembers',
      'namePrincipals',
      'newPrincipal',
      'ownerSeat',
      'needsSetup',
      'listInvites',
      'showInvite',
      'sessionState',
      'listSessions',
      'getConfig',
      'readInstanceConfig',
      'recognise',
      'listIdentityEvents',
      'showLink',
      'findPasskey',
      'accountSecurity',
      'findAccount',
    ],
    open: (unit) => openDirectory(unit, options.sealing),
  });
}

/** The unit that keeps secrets in clear. */
export const identityDirectory: IdentityDirectoryUnit = makeIdentityDirectory();

function openDirectory(unit: UnitContext, sealing: Keyring | undefined) {
  // Events are listed by id: they must keep increasing when the clock stepped back while the unit was closed.
  const newest = newestEventId(unit.db);
  if (newest !== undefined) unit.newId.observe(newest);
  const keeper = makeSecretKeeper(unit, sealing);
  const people = makePeopleOperations(unit);
  const config = makeConfigOperations(unit, keeper);
  const accounts = makeAccountOperations(unit, keeper);
  return {
    ...people,
    ...makeSeatOperations(unit),
    ...makeRecoveryOperations(unit),
    ...makeInviteOperations(unit),
    ...config,
    ...makeSessionOperations(unit),
    ...makeEventOperations(unit),
    ...accounts,
    ...makeRecogniseOperation({
      unit,
      readInstanceConfig: config.readInstanceConfig,
      findAccount: accounts.findAccount,
      findPrincipal: people.findPrincipal,
    }),
    ...makeSealingOperations(unit, keeper),
    ...makeForgetOperations(unit),
  };
}
