/** The texts of the sign-in pages and their mails, in English. Those of every other language have the same shape. */
import type { PlatformError } from '@freehold/contracts';
import { type Html, html } from '../markup/html.ts';

/** A time that a link works for. */
export interface Span {
  readonly unit: 'minute' | 'hour' | 'day';
  readonly count: number;
}

export interface NoticeMail {
  readonly subject: string;
  readonly sentence: string;
  /** The advice if it was another person; `{reset}` stands for the address at which a new password is chosen. */
  readonly last?: string;
}

function spanText({ unit, count }: Span): string {
  return count === 1 && unit !== 'day' ? `one ${unit}` : `${count} ${unit}s`;
}

const IF_NOT_YOU =
  'If it was not you, choose a new password now, and remove passkeys that you do not know: {reset}';

export const en = {
  frame: {
    error: 'Error: ',
    help: 'Get help',
    signIn: 'Sign in',
    goBack: 'Go back',
    backToSignIn: 'Back to signing in',
    or: 'or',
    email: 'E-mail address',
    password: 'Password',
    code: 'Code',
    nameOptional: 'Your name (optional)',
    showPassword: 'Show password',
    continue: 'Continue',
    tooMany: (minutes: number) =>
      `Too many attempts. Try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`,
    /** The title of a refusal, and its sentence, which may be that of the refusal itself. */
    titleOf: (_error: PlatformError, title: string) => title,
    sentenceOf: (error: PlatformError) => error.message,
  },
  /** Of the script: its failures. */
  script: {
    cancelled: 'That was cancelled, or took too long. Try again.',
    known: 'This device already has a passkey for your account.',
    failed: 'That did not work. Try again, or use your password.',
  },
  notices: {
    name_saved: 'Your name was saved.',
    email_sent: 'Open the mail that we sent to the new address, and follow its link to confirm the address.',
    email_changed: 'Your address was changed. From now on you sign in with the new one.',
    password_changed: 'Your password was changed, and all other sessions were ended.',
    passkey_added: 'The passkey was added.',
    passkey_renamed: 'The passkey was renamed.',
    passkey_removed: 'The passkey was removed.',
    totp_disabled: 'Two-step verification was turned off.',
    session_ended: 'That session was ended.',
    signed_out: 'You are signed out everywhere.',
    second_factor_expired: 'That took too long, or too many codes were wrong. Sign in again.',
  },
  newPassword: {
    label: 'New password',
    hint: 'At least 8 characters. A few words in a row are easy to remember and hard to guess.',
    tooShort: (min: number) => `Use at least ${min} characters.`,
    tooLong: (max: number) => `Use at most ${max} characters.`,
    repeatsOwner: 'This is your e-mail address, your name or the name of this site. Choose something else.',
    common: 'This is one of the first passwords that an attacker would try. Choose something else.',
  },
  signIn: {
    heading: (app: string) => `Sign in to ${app}`,
    passkey: 'Sign in with a passkey',
    forgot: 'I forgot my password',
    newHere: 'New here?',
    signUp: 'Sign up',
    /** The same for an address without an account, an account without a password, and a wrong password. */
    refused: 'This e-mail address and password do not go together.',
  },
  secondFactor: {
    heading: 'Enter your code',
    what: 'Open your authenticator app and type the code it shows. If you do not have it, type one of your recovery codes.',
    again: 'Start again',
    refused: 'This code is not right, or it was used already. Try the next one.',
  },
  confirm: {
    heading: 'Confirm it is you',
    what: (email: Html) =>
      html`You are signed in as ${email}. Before you change how you sign in, show once more that it is you.`,
    button: 'Confirm',
    passkey: 'Confirm with a passkey',
    noScript: 'Your account has a passkey and no password, so this needs JavaScript.',
    without: 'Go back without confirming',
    missing: 'Type your password.',
    refused: 'This is not your password.',
  },
  signUp: {
    heading: (app: string) => `Sign up to ${app}`,
    haveAccount: 'You have an account?',
    finish: (app: string) => `Finish signing up to ${app}`,
    as: (email: Html) => html`You are signing up as ${email}.`,
    button: 'Sign up',
    passkeyWhat:
      'A passkey signs you in with your fingerprint, your face or the lock of your device. There is no password to remember.',
    passkey: 'Sign up with a passkey',
    closed: 'Signing up is closed',
    closedWhat: 'New accounts are not made here. Ask the people who run this site for access.',
  },
  reset: {
    heading: 'Choose a new password',
    what: 'Type your e-mail address. We send you a link with which you can choose a new password.',
    send: 'Send the link',
    forAccount: (email: Html) =>
      html`For ${email}. All sessions of the account are ended with it, and you are signed in here.`,
    passkeys: 'These passkeys can sign in to the account as well:',
    addedOn: (name: Html, day: Html) => html`${name}, added on ${day}`,
    removePasskeys: 'Remove all passkeys. Do so if you do not know every one.',
    save: 'Save the password',
  },
  mailSent: {
    heading: 'Check your mail',
    what: (email: Html) =>
      html`If ${email} can be used for this, we have sent a link to it. It may take a few minutes; check your spam folder too.`,
    another: 'Use another address',
  },
  emailFinish: {
    heading: 'Use this address?',
    what: (former: Html, email: Html) =>
      html`Your account ${former} gets the address ${email}. From now on you sign in with that, and mail about your account goes there.`,
    button: 'Use this address',
  },
  emailRevert: {
    heading: 'Take your account back?',
    what: (email: Html) =>
      html`The account gets its address ${email} back, and all its sessions are ended. Then choose a new password.`,
    button: 'Take it back',
    done: 'Your account has its former address again',
    doneWhat:
      'All its sessions were ended. Choose a new password now, and remove passkeys that you do not know.',
    next: 'Choose a new password',
  },
  deadLink: {
    heading: 'This link no longer works',
    what: 'A link works once, for a while, and only the newest one does.',
    again: 'Ask for a new one',
  },
  signOut: {
    refused: 'Not signed out',
    refusedWhat: 'This address is only for a person who follows the link.',
    incomplete: 'Sign-out incomplete',
    incompleteWhat:
      'You are signed out in this browser, but the session could not be ended everywhere. Sign in again and end it under “Sign-in and security”.',
  },
  security: {
    heading: 'Sign-in and security',
    confirmFirst: (confirmUrl: string) =>
      html`To change how you sign in, <a href="${confirmUrl}">confirm that it is you</a> first.`,
    signOut: 'Sign out',
    name: 'Name',
    saveName: 'Save the name',
    isConfirmed: '(confirmed)',
    isNotConfirmed: '(not confirmed)',
    newAddress: 'New address',
    newAddressHint: 'We send a link to it. Nothing changes until you follow the link.',
    changeAddress: 'Change the address',
    noPassword: 'Your account has no password.',
    setOn: (day: Html) => html`Set on ${day}.`,
    setPassword: 'Set a password',
    changePassword: 'Change the password',
    endsSessions:
      'All other sessions of your account are ended with it. Passkeys stay: remove those below that you do not know.',
    passkeys: 'Passkeys',
    noPasskeys:
      'You have none. A passkey signs you in with your fingerprint, your face or the lock of your device.',
    newPasskey: 'Name of the new passkey (optional)',
    addPasskey: 'Add a passkey',
    addNeedsScript: 'Adding a passkey needs JavaScript.',
    addedOn: (day: Html) => html`added on ${day}`,
    lastUsedOn: (day: Html) => html`, last used on ${day}`,
    backedUp: ', kept in more than one device',
    newName: 'New name',
    rename: 'Rename',
    remove: 'Remove',
    twoStep: 'Two-step verification',
    twoStepOn: (codes: number) =>
      `On: signing in with your password asks for a code as well. You have ${codes} recovery codes left.`,
    twoStepOff: 'Off. With it, signing in with your password asks for a code from an app as well.',
    newCodes: 'Make new recovery codes',
    turnOn: 'Turn on',
    turnOff: 'Turn off',
    sessions: 'Where you are signed in',
    unknownBrowser: 'Unknown browser',
    thisOne: '(this one)',
    since: (day: Html) => html`since ${day}`,
    signOutEverywhere: 'Sign out everywhere',
    delete: 'Delete your account',
    deleteWhat:
      'Afterwards it can no longer be used to sign in, and it cannot be restored. The records of your work here stay.',
    typeToConfirm: (email: string) => `Type ${email} to confirm`,
    deleteButton: 'Delete my account',
    notYours: 'This is not the address of your account.',
    deleted: 'Your account was deleted',
    deletedWhat: 'It can no longer be used to sign in, and its sessions are over.',
  },
  totp: {
    heading: 'Set up two-step verification',
    scan: 'Scan this with your authenticator app.',
    qrLabel: 'QR code of the secret written below',
    orType: 'Or type the secret:',
    typeCode: 'Type the code that the app shows.',
    cancel: 'Cancel',
    tooLong: 'That took too long. Begin again.',
    inUse: 'A second factor is in use already. Turn it off first.',
    codes: 'Your recovery codes',
    codesWhat: html`Each of these signs you in once when you do not have your authenticator app. Keep them in a safe place: <strong>they are not shown again</strong>.`,
    saved: 'I have saved them',
  },
  mails: {
    copyAddress: 'If the link does not work, copy this address:',
    signUp: {
      subject: (app: string) => `Finish signing up to ${app}`,
      asked: (app: string) => `We received a request to sign up to ${app} with this address.`,
      action: 'Finish signing up',
      last: (span: Span) =>
        `The link works once, for ${spanText(span)}. If it was not you, nothing happens unless you follow it.`,
    },
    accountExists: {
      subject: (app: string) => `You already have an account at ${app}`,
      asked: (app: string) =>
        `We received a request to use this address at ${app}. You have an account with it already.`,
      forgot: (url: string) => `If you forgot your password, choose a new one here: ${url}`,
      action: 'Sign in',
      last: 'If it was not you, you need do nothing: your account was not opened.',
    },
    reset: {
      subject: (app: string) => `Choose a new password for ${app}`,
      asked: (app: string) => `We received a request for a new password at ${app}.`,
      action: 'Choose a new password',
      last: (span: Span) =>
        `The link works once, for ${spanText(span)}. If it was not you, your password stays as it is.`,
    },
    emailChange: {
      subject: (app: string) => `Confirm your address for ${app}`,
      asked: (app: string) => `We received a request to use this address for an account at ${app}.`,
      action: 'Use this address',
      last: (span: Span) =>
        `The link works once, for ${spanText(span)}. If it was not you, nothing happens unless you follow it.`,
    },
    emailChanged: {
      subject: (app: string) => `Your address was changed at ${app}`,
      changed: (app: string) => `Your account at ${app} now has another e-mail address.`,
      action: 'It was not me: take my account back',
      last: (span: Span) => `The link works once, for ${spanText(span)}. If it was you, you need do nothing.`,
      tellOperator: (app: string) => `If it was not you, tell the people who run ${app}.`,
    },
    noticeSubject: (subject: string, app: string) => `${subject} at ${app}`,
    seeAccount: 'See how you sign in',
    seePasskeys: 'See your passkeys',
    ifNotYou: IF_NOT_YOU,
    notices: {
      password_changed: {
        subject: 'Your password was changed',
        sentence: 'The password of your account was changed, and all its other sessions were ended.',
      },
      password_reset: {
        subject: 'Your password was changed',
        sentence:
          'A new password was chosen for your account through a link in a mail, and all its sessions were ended.',
      },
      passkey_added: {
        subject: 'A passkey was added',
        sentence:
          'A passkey can now be used to sign in to your account. A new password does not change that.',
        last: 'If it was not you, remove it there. If you cannot sign in, choose a new password and remove all passkeys with it: {reset}',
      },
      passkey_removed: {
        subject: 'A passkey was removed',
        sentence: 'A passkey of your account was removed.',
      },
      totp_enabled: {
        subject: 'Two-step verification was turned on',
        sentence: 'Signing in with your password now asks for a code as well.',
      },
      totp_disabled: {
        subject: 'Two-step verification was turned off',
        sentence: 'Signing in with your password no longer asks for a code.',
      },
      recovery_codes_made: {
        subject: 'New recovery codes were made',
        sentence: 'Your account has new recovery codes. The earlier ones no longer work.',
      },
      recovery_code_used: {
        subject: 'A recovery code was used',
        sentence: 'One of the recovery codes of your account was used to sign in.',
      },
      email_change_asked: {
        subject: 'Your address is about to change',
        sentence:
          'A person who is signed in to your account asked to change its e-mail address. Nothing has changed yet.',
        last: 'If it was not you, sign out everywhere on that page, which stops the change, and choose a new password: {reset}',
      },
      account_locked: {
        subject: 'Your password may be under attack',
        sentence:
          'There were too many wrong attempts to sign in to your account, so no more are taken from there for a while. Browsers in which you have signed in before are not affected.',
        last: 'If it was you and you forgot your password, choose a new one: {reset}',
      },
      account_deleted: {
        subject: 'Your account was deleted',
        sentence: 'Your account was deleted at your wish. It can no longer be used to sign in.',
        last: 'This is the last mail about it.',
      },
    } satisfies Readonly<Record<string, NoticeMail>>,
  },
};

type Widened<Value> = Value extends { readonly subject: string; readonly sentence: string }
  ? NoticeMail
  : Value extends Html | ((...args: never[]) => unknown)
    ? Value
    : Value extends object
      ? { readonly [Key in keyof Value]: Widened<Value[Key]> }
      : Value;

export type Texts = Widened<typeof en>;
/** A short message of the page after a form. */
export type NoticeCode = keyof typeof en.notices;
/** An event of an account that its holder is notified of. */
export type AccountNotice = keyof typeof en.mails.notices;
