/** Identity events in words: sign-ins, refusals and changes of access. A type without a sentence does not compile. */
import type { IdentityEventEntry, IdentityEventKind } from '@freehold/app/wire';
import { roleName } from './roles.ts';

/** The kinds, as a choice. */
export const KIND_NAMES: Readonly<Record<IdentityEventKind, string>> = {
  sign_ins: 'Sign-ins',
  team: 'Invites and members',
  accounts: 'Accounts',
  programs: 'Programs',
  settings: 'Settings',
};

/** A sentence, with its subject apart: "Grace Hopper" and "accepted an invite as Dispatcher." */
export interface Told {
  readonly who: string;
  readonly text: string;
}

/** Says what happened. `you` is the reader's own principal. */
export function tellIdentityEvent(event: IdentityEventEntry, you: string | null): Told {
  const { who, text } = TELLERS[event.type](factsOf(event, you));
  const more =
    event.detail.further === 'not_recorded' ? ' What followed within the hour was not recorded.' : '';
  return { who, text: `${text}${more}` };
}

interface Facts {
  /** Whom it happened to, at the head of a sentence. */
  readonly person: string;
  /** The same within one: the name, or null when there is none to say. */
  readonly name: string | null;
  /** The actor. */
  readonly actor: string;
  readonly byThemself: boolean;
  readonly their: 'your' | 'their';
  readonly was: 'were' | 'was';
  /** A detail that is one word; empty when there is none. */
  readonly word: (key: string) => string;
  /** A detail that is a list. */
  readonly list: (key: string) => readonly string[];
}

const PLATFORM = 'The platform';

function factsOf({ person, actor, detail }: IdentityEventEntry, you: string | null): Facts {
  const isYou = person !== null && person.principal === you;
  return {
    person: person === null ? 'A person who is not on the team' : headOf(person, you),
    name: isYou ? 'you' : (person?.name ?? null),
    actor: actor === null ? PLATFORM : headOf(actor, you),
    byThemself: actor === null,
    their: isYou ? 'your' : 'their',
    was: isYou ? 'were' : 'was',
    word: (key) => (typeof detail[key] === 'string' ? detail[key] : ''),
    list: (key) => (typeof detail[key] === 'object' ? detail[key] : []),
  };
}

function headOf(person: { readonly principal: string; readonly name: string | null }, you: string | null) {
  return person.principal === you ? 'You' : (person.name ?? 'A former teammate');
}

/** Events about a person's own account or session. */
const own =
  (words: (facts: Facts) => string) =>
  (facts: Facts): Told => ({ who: facts.person, text: words(facts) });

const TELLERS: Readonly<Record<IdentityEventEntry['type'], (facts: Facts) => Told>> = {
  seat_opened: () => ({ who: PLATFORM, text: 'opened the seat of the owner.' }),
  seat_claimed: own(({ word }) => {
    if (word('how') === 'first_sign_in') return 'became the owner by signing in first.';
    return word('how') === 'claim_link' ? 'became the owner with a claim link.' : 'became the owner.';
  }),
  claim_minted: () => ({ who: PLATFORM, text: 'made a link to claim the seat of the owner.' }),
  claim_refused: own(({ word }) => `tried to become the owner${REFUSALS[word('reason')] ?? ''}.`),
  owner_stranded: own(({ was }) => `${was} left outside by new sign-in settings.`),
  owner_recovery_made: ({ actor, word }) => ({
    who: actor,
    text: `made a link by which a person takes over${asRole(word('role'))}.`,
  }),
  owner_replacement_made: ({ actor }) => ({
    who: actor,
    text: 'made a link by which a person takes the place of the owner.',
  }),
  owner_recovery_ended: ({ actor }) => ({ who: actor, text: 'ended the link for a new owner.' }),
  owner_replaced: own(() => 'took the place of the owner, with a link of the operator.'),
  owner_transferred: ({ actor, name }) => ({
    who: actor,
    text: `handed the seat of the owner to ${name ?? 'a teammate'}.`,
  }),

  invite_created: ({ actor, name, word }) => ({
    who: actor,
    text: `invited ${name ?? 'a person'}${asRole(word('role'))}.`,
  }),
  invite_accepted: own(({ word }) => `accepted an invite${asRole(word('role'))}.`),
  invite_refused: own(({ word }) => `tried to accept an invite${REFUSALS[word('reason')] ?? ''}.`),
  invite_revoked: ({ actor, word }) =>
    word('reason') === 'inviter_lost_right'
      ? { who: 'An invite', text: 'ended, because the person who made it may not invite any more.' }
      : { who: actor, text: 'took back an invite.' },
  member_removed: ({ actor, name }) => ({ who: actor, text: `took ${name ?? 'a teammate'} off the team.` }),
  members_moved_in: () => ({ who: PLATFORM, text: 'brought the team in from a copy of another instance.' }),

  signed_in: own(() => 'signed in.'),
  // It happened to the account: the person at the keyboard is unknown.
  sign_in_refused: ({ name, word }) => ({
    who: 'A person',
    text: `tried to sign in${name === null ? '' : ` as ${name}`}${REFUSALS[word('reason')] ?? ''}.`,
  }),
  account_locked: own(({ was }) => `${was} locked out for a while after too many wrong attempts.`),
  session_ended: own(({ was, word }) => {
    if (word('by') === 'issuer') return `${was} signed out by the sign-in service.`;
    if (word('by') === 'limit') return `${was} signed out of the oldest of very many browsers.`;
    return 'signed out of one browser.';
  }),
  all_sessions_ended: ({ person, name, actor, byThemself, was, word }) => {
    if (!byThemself) return { who: actor, text: `signed ${name ?? 'a person'} out everywhere.` };
    const isByIssuer = word('by') === 'issuer';
    return {
      who: person,
      text: isByIssuer ? `${was} signed out everywhere by the sign-in service.` : 'signed out everywhere.',
    };
  },

  account_created: own(({ word }) => `made an account${CREDENTIALS[word('credential')] ?? ''}.`),
  account_renamed: own(({ their }) => `changed ${their} name.`),
  profile_changed: own(({ list }) => {
    const names = list('changed').flatMap((field) => PROFILE_FIELDS[field] ?? []);
    return `got new details from the sign-in service${names.length > 0 ? `: ${inWords(names)}` : ''}.`;
  }),
  password_changed: own(({ their }) => `changed ${their} password.`),
  password_reset: own(() => 'set a new password with a link sent by e-mail.'),
  passkey_added: own(() => 'added a passkey.'),
  passkey_removed: own(() => 'removed a passkey.'),
  totp_enabled: own(() => 'turned on codes from an app as a second step.'),
  totp_disabled: own(() => 'turned off codes from an app as a second step.'),
  recovery_codes_made: own(() => 'made new recovery codes.'),
  recovery_code_used: own(() => 'used a recovery code to sign in.'),
  email_changed: own(({ their }) => `changed ${their} e-mail address.`),
  email_reverted: own(({ their }) => `took back a change of ${their} e-mail address.`),
  account_deleted: ({ person, name, actor, byThemself, their }) =>
    byThemself
      ? { who: person, text: `deleted ${their} account.` }
      : { who: actor, text: `deleted the account of ${name ?? 'a person'}.` },

  program_let_in: own(({ word }) => `let in ${program(word)}.`),
  program_ended: ({ actor, byThemself, word, name }) => {
    const ofPerson = name === null ? '' : ` of ${name === 'you' ? 'yours' : name}`;
    return byThemself
      ? { who: program(word), text: `was ended${ENDS[word('reason')] ?? ''}.` }
      : { who: actor, text: `ended ${program(word)}${ofPerson}.` };
  },
  program_token_made: own(({ word }) => `made the token “${word('program')}” for scripts.`),
  program_policy_changed: ({ actor, word, list }) => ({
    who: actor,
    text:
      word('programs') === 'listed'
        ? `admitted the programs of ${inWords(list('hosts'))} alone.`
        : `admitted ${word('programs') === 'none' ? 'no' : 'any'} program.`,
  }),

  config_changed: ({ list }) => ({
    who: PLATFORM,
    text: `changed settings${list('keys').length > 0 ? `: ${inWords(list('keys'))}` : ''}.`,
  }),
  session_secret_minted: () => ({ who: PLATFORM, text: 'made the key that sessions are signed with.' }),
  session_secret_rotated: () => ({ who: PLATFORM, text: 'replaced the key that sessions are signed with.' }),
};

/** The cause of a refusal, by its reason. An unknown reason is left out. */
const REFUSALS: Readonly<Record<string, string>> = {
  claim_invalid: ' with a link that does not work',
  claim_expired: ' with a link that has expired',
  invite_used: ' that was accepted already',
  invite_revoked: ' that was taken back',
  invite_expired: ' that has expired',
  invite_email_mismatch: ' that is for another e-mail address',
  invite_email_unverified: ' without a verified e-mail address',
  already_member: ', being a member already',
  wrong_password: ' with a wrong password',
  wrong_code: ' with a wrong code',
  password_changed: ' with a password that had just been changed',
  passkey_unknown: ' with a passkey that is not known here',
  passkey_counter: ' with what may be a copy of a passkey',
};

function program(word: Facts['word']): string {
  return `${word('program') || 'A program'}${word('host') === '' ? '' : ` of ${word('host')}`}`;
}

/** The cause of the end of a program, by its reason. */
const ENDS: Readonly<Record<string, string>> = {
  limit: ', because there were very many',
  policy: ', because the owner does not admit it any more',
  member_removed: ', because its person left the team',
  all_sessions_ended: ', because its person signed out everywhere',
  secret_rotated: ', because the key of the sessions was replaced',
  token_reused: ', because one of its tokens was used twice',
};

const CREDENTIALS: Readonly<Record<string, string>> = {
  password: ' with a password',
  passkey: ' with a passkey',
};

const PROFILE_FIELDS: Readonly<Record<string, string>> = {
  email: 'e-mail address',
  name: 'name',
  emailVerified: 'whether the address is verified',
};

function asRole(role: string): string {
  return role === '' ? '' : ` as ${roleName(role)}`;
}

/** "a, b and c" */
function inWords(names: readonly string[]): string {
  return names.join(', ').replace(/, ([^,]*)$/, ' and $1');
}
