/**
 * The identity directory: one unit per tenant, keyed by the tenant id, with that tenant's people, seats, invites,
 * settings, sessions and accounts, and no other tenant's (spec 2.6).
 */
import { nameCursors } from '@freehold/contracts';
import {
  defineUnit,
  type Keyring,
  type UnitContext,
  type UnitDefinition,
  type UnitStub,
} from '@freehold/store';
import { voidPendingFlows } from '../accounts/account.ts';
import { makeAccountOperations } from '../accounts/operations.ts';
import { makeConfigOperations } from '../config/operations.ts';
import { makeConfigVersion } from '../config/version.ts';
import { makeCopyOperations } from '../copies/operations.ts';
import { IDENTITY_EVENTS, makeEventOperations } from '../events/operations.ts';
import { newestEventId } from '../events/store.ts';
import { makeInviteOperations } from '../invites/operations.ts';
import { makeSecretKeeper } from '../lib/secret-keeper.ts';
import { makeMembershipOperations, makeRecoveryInvites } from '../memberships/operations.ts';
import { makePeopleOperations } from '../people/operations.ts';
import { makeProgramOperations } from '../programs/operations.ts';
import { makeQuestionOperations } from '../programs/questions.ts';
import { makeReadOperations } from '../programs/reads.ts';
import { makeSeatOperations } from '../seats/operations.ts';
import { makeRecoveryOperations } from '../seats/recovery.ts';
import { makeSessionOperations } from '../sessions/operations.ts';
import { makeForgetOperations } from './forget-scope.ts';
import { MIGRATIONS } from './migrations.ts';
import { makeRecogniseOperations } from './recognise.ts';
import { makeSealingOperations } from './reseal.ts';

type IdentityMethods = ReturnType<typeof openDirectory>;

/** A tenant's identity directory, from the outside. */
export type IdentityDirectory = UnitStub<IdentityMethods>;

/** The unit: `engine.unit(unit, tenantId, { create: true })`. */
export type IdentityDirectoryUnit = UnitDefinition<IdentityMethods>;

export interface IdentityDirectoryOptions {
  /**
   * Seals the secrets that the directory must read again: authenticator secrets, session secrets and delivered
   * settings, each bound to its tenant, table and row. Its first key seals, all open; reading an instance's
   * configuration reseals what is in clear or under an older key. Without a keyring they are stored in clear, which is
   * for development: an application in production passes one, or refuses to start.
   */
  readonly sealing?: Keyring | undefined;
}

const SEALED_UNITS = new WeakMap<Keyring, IdentityDirectoryUnit>();

/**
 * Returns the unit of a keyring: one for all who open its directories in this process. All openers of an engine's
 * directories pass the same keyring: the first opener decides for all.
 */
export function makeIdentityDirectory({ sealing }: IdentityDirectoryOptions = {}): IdentityDirectoryUnit {
  if (sealing === undefined) return identityDirectory;
  const known = SEALED_UNITS.get(sealing);
  if (known) return known;
  const unit = defineDirectory(sealing);
  SEALED_UNITS.set(sealing, unit);
  return unit;
}

function defineDirectory(sealing?: Keyring): IdentityDirectoryUnit {
  return defineUnit({
    kind: 'identity',
    migrations: [{ name: 'identity', migrations: MIGRATIONS }],
    queries: [
      'findPrincipal',
      'findMember',
      'listMembers',
      'membersForCopy',
      'standingForCopy',
      'namePrincipals',
      'newPrincipal',
      'ownerSeat',
      'needsSetup',
      'listInvites',
      'showInvite',
      'inviteTerms',
      'pendingInvites',
      'leftoverRoles',
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
      'findClient',
      'listPrograms',
      'listProgramReads',
      'programPolicy',
      'usableProgram',
      'readQuestion',
      'admitsProgram',
    ],
    open: (unit) => openDirectory(unit, sealing),
  });
}

/** The unit that stores secrets in clear. */
export const identityDirectory: IdentityDirectoryUnit = defineDirectory();

function openDirectory(unit: UnitContext, sealing: Keyring | undefined) {
  // Events are listed by id: ids must keep increasing when the clock stepped back while the unit was closed.
  const newest = newestEventId(unit.db);
  if (newest !== undefined) unit.newId.observe(newest);
  const keeper = makeSecretKeeper(unit, sealing);
  const configVersion = makeConfigVersion(unit);
  const accounts = makeAccountOperations(unit, keeper);
  const methods = {
    ...makePeopleOperations(unit),
    ...makeSeatOperations(unit),
    ...makeRecoveryOperations(unit),
    ...makeInviteOperations(unit, makeRecoveryInvites(unit)),
    ...makeMembershipOperations(unit),
    ...makeConfigOperations(unit, keeper, configVersion),
    ...makeSessionOperations(unit, (subject) => voidPendingFlows(unit, subject)),
    ...makeEventOperations(unit),
    ...accounts,
    ...makeRecogniseOperations(unit, { configVersion, findAccount: accounts.findAccount }),
    ...makeSealingOperations(unit, keeper),
    ...makeProgramOperations(unit),
    ...makeReadOperations(unit),
    ...makeQuestionOperations(unit),
    ...makeForgetOperations(unit),
    ...makeCopyOperations(unit),
  };
  return nameCursors(methods, ['listMembers', 'listInvites', IDENTITY_EVENTS]);
}
