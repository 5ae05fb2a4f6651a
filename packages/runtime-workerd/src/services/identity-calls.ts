/**
 * The calls of a tenant's identity directory that a deployed vertical may make. The directory is shared by all verticals of
 * the tenant, and a bundle may be hostile: it names its own scope alone, speaks for no person whom the platform did not recognise
 * there, and changes no setting, secret or membership of others but as the platform orders it to.
 */
import { CLIENT_SECRET_KEY, type IssuedSubject } from '@freehold/auth';
import { canonicalJson, PlatformError } from '@freehold/contracts';
import type { OrdersInFlight } from './orders-in-flight.ts';
import type { InstanceRef } from './ports.ts';
import type { Recognised } from './recognised.ts';

/** The facts by which a call is judged. */
export interface CallSources {
  readonly recognised: Recognised;
  readonly orders: OrdersInFlight;
  /** The vertical of a scope of the tenant; null for one that is not there. */
  readonly verticalOf: (ref: InstanceRef) => Promise<string | null>;
  readonly vertical: string;
  readonly now: () => number;
}

type Input = Readonly<Record<string, unknown>>;
/** Returns the input that counts; null for a call that is refused. */
type Rule = (input: Input, ref: InstanceRef, sources: CallSources) => Input | null | Promise<Input | null>;

const ofOwnScope: Rule = (input, { scope }) => (input.scopeId === scope ? input : null);

/** The person of `input.subject`, as the platform recognised them at this instance. */
const ofRecognised: Rule = (input, ref, { recognised }) => {
  const subject = recognised.find(ref.scope, personIn(input.subject));
  return input.scopeId === ref.scope && subject ? { ...input, subject } : null;
};

/** The sessions of a person, at all instances of the tenant. */
const ofOwnSessions: Rule = (input, { scope }, { recognised, now }) => {
  if (!recognised.find(scope, personIn(input))) return null;
  // Sessions that begin later could never be begun.
  return 'nowMs' in input ? { ...input, nowMs: now() } : input;
};

/** A step of the platform: its request to this instance is being answered. */
const whenOrdered =
  (...paths: readonly string[]): Rule =>
  (input, ref, { orders }) =>
    (input.scopeId ?? ref.scope) === ref.scope && paths.some((path) => orders.bodies(ref, path).length > 0)
      ? input
      : null;

/** Settings as the platform delivers them at this moment. */
const asDelivered: Rule = (input, ref, { orders }) => {
  const config = canonicalJson(input.config ?? null);
  const isDelivered = ['configure', 'provision'].some((path) =>
    orders.bodies(ref, path).some((body) => canonicalJson(body.config ?? null) === config),
  );
  return input.scopeId === ref.scope && isDelivered ? input : null;
};

/** Members of a copy: of another instance of this vertical, or of one that is gone. */
const ofSameVertical: Rule = async (input, { tenant, scope }, { verticalOf, vertical }) => {
  if (input.scopeId !== scope || typeof input.from !== 'string') return null;
  const from = await verticalOf({ tenant, scope: input.from });
  return from === null || from === vertical ? input : null;
};

/** The place that a copy comes from: an instance of this vertical, or one that is gone. */
const whereCopied: Rule = async (input, { tenant, scope }, { verticalOf, vertical }) => {
  if (typeof input.scopeId !== 'string') return null;
  const from = input.scopeId === scope ? vertical : await verticalOf({ tenant, scope: input.scopeId });
  return from === null || from === vertical ? input : null;
};

const OF_OWN_SCOPE = [
  ...['listMembers', 'namePrincipals', 'findMember', 'setPendingOwner', 'ownerSeat', 'needsSetup'],
  ...['mintOwnerClaim', 'mintOwnerClaimLink', 'createInvite', 'listInvites', 'showInvite', 'revokeInvite'],
  ...[
    'inviteTerms',
    'pendingInvites',
    'withdrawInvites',
    'leftoverRoles',
    'leftoverRolesTaken',
    'limitRoles',
  ],
  // It answers a program that the application has seen.
  'usableProgram',
  ...['noteRoles', 'removeMember', 'transferOwner', 'requireTransferable', 'getConfig', 'listIdentityEvents'],
  // It answers the principal that a person has in this scope.
  ...['findPrincipal', 'membersForCopy', 'endOwnerWindow'],
  // Counts are bounded, and a false one misleads about this application alone.
  'noteProgramReads',
  // So are questions, and an answer that is made up could as well be an act without a question.
  ...['openQuestion', 'answerQuestion', 'readQuestion', 'closeQuestion'],
];

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...OF_OWN_SCOPE.map((method): [string, Rule] => [method, ofOwnScope]),
  ['newPrincipal', () => ({})],
  ['claimOwner', ofRecognised],
  ['claimInvite', ofRecognised],
  ['listSessions', ofOwnSessions],
  ['endOwnSession', ofOwnSessions],
  ['endAllSessions', ofOwnSessions],
  ['putConfig', asDelivered],
  ['mintOwnerRecovery', whenOrdered('owner-recovery')],
  ['mintOwnerReplacement', whenOrdered('owner-replacement')],
  ['endOwnerRecovery', whenOrdered('owner-recovery/end')],
  ['rotateSessionSecret', whenOrdered('session-secret/rotate')],
  ['forgetScope', whenOrdered('delete-scope')],
  ['moveMembersIn', ofSameVertical],
  ['standingForCopy', whereCopied],
]);

/** The requests of the management contract, below `/internal/`, that a rule asks for. */
export const ORDERS: ReadonlySet<string> = new Set([
  ...['configure', 'provision', 'owner-recovery', 'owner-replacement', 'owner-recovery/end'],
  ...['session-secret/rotate', 'delete-scope'],
]);

/** Returns the input with which the call is made. @throws PlatformError `forbidden`, reason `capability_refused`. */
export async function judgeCall(
  method: string,
  input: unknown,
  ref: InstanceRef,
  sources: CallSources,
): Promise<Input> {
  const given = typeof input === 'object' && input !== null ? (input as Input) : {};
  const judged = await RULES.get(method)?.(given, ref, sources);
  if (judged) return judged;
  throw new PlatformError('forbidden', 'An application may ask about its own instance alone.', {
    reason: 'capability_refused',
  });
}

/** Removes what an instance has no use for: the secret that it shares with an issuer, which the platform alone uses. */
export function withoutSecrets(config: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.hasOwn(config, CLIENT_SECRET_KEY) ? { ...config, [CLIENT_SECRET_KEY]: '' } : config;
}

function personIn(value: unknown): Pick<IssuedSubject, 'issuer' | 'sub'> {
  const { issuer, sub } = (
    typeof value === 'object' && value !== null ? value : {}
  ) as Partial<IssuedSubject>;
  return { issuer: String(issuer), sub: String(sub) };
}
