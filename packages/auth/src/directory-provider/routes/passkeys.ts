/** Passkeys: our script's calls that use or make one, and the forms that rename and remove them. */

import { createHash } from 'node:crypto';
import { type PlatformError, parseInput } from '@freehold/contracts';
import { z } from 'zod';
import { refusal } from '../../lib/refusals.ts';
import { clientLabel } from '../../sessions/client-label.ts';
import type { Exchange, Handler } from '../lib/context.ts';
import { noticeCookie } from '../lib/cookies.ts';
import { notifyAccount } from '../lib/mails.ts';
import { readJson } from '../lib/request-body.ts';
import { jsonResponse, orRefusal } from '../lib/responses.ts';
import {
  type AccountHandler,
  forFreshlySignedInForm,
  goOn,
  holderOf,
  requireSignedIn,
  type SignedIn,
} from '../lib/sessions.ts';
import type { Ceremony } from '../lib/webauthn.ts';
import {
  assertionJson,
  creationOptions,
  registrationJson,
  requestOptions,
  verifyAssertion,
  verifyRegistration,
} from '../lib/webauthn.ts';
import { returnPath, SECURITY_PATH } from '../pages/paths.ts';
import { conflicting, doneAt } from './security.ts';
import { finishSignUp } from './sign-up.ts';

/** `confirm`: the holder confirms their identity in place of signing in. */
const optionsBody = z.strictObject({ confirm: z.literal(true).optional() });
const verifyBody = z.strictObject({
  credential: assertionJson,
  confirm: z.literal(true).optional(),
  returnTo: z.string().max(2_000).optional(),
});
/** `linkToken`: the sign-up of the passkey; absent: the signed-in account. */
const newOptionsBody = z.strictObject({ linkToken: z.string().max(100).optional() });
const newPasskeyBody = z.strictObject({
  credential: registrationJson,
  /** Of the passkey; of the account when it is for a sign-up. */
  name: z.string().max(1_000).optional(),
  linkToken: z.string().max(100).optional(),
});

const NAME_DEFAULT = 'Passkey';

export const postPasskeyOptions: Handler = async (exchange) => {
  const { confirm } = await readBody(exchange, optionsBody);
  const signedIn = await confirming(exchange, confirm);
  return jsonResponse(await requestOptions(exchange, ceremonyOf(signedIn)));
};

export const postPasskeyVerify: Handler = async (exchange) => {
  const { credential, confirm, returnTo } = await readBody(exchange, verifyBody);
  const signedIn = await confirming(exchange, confirm);
  const ceremony = ceremonyOf(signedIn);
  const verified = await verifyAssertion(exchange, { response: credential, ceremony });
  if (verified === null) throw refused();
  const { passkey, ...proof } = verified;
  const step = await exchange.directory.finishPasskey({
    ...exchange.attempt,
    ...(signedIn ? { session: holderOf(exchange, signedIn).session } : {}),
    ...proof,
    id: passkey.id,
  });
  const onward = await goOn(exchange, { step, returnTo: returnPath(returnTo) });
  if (onward === null) throw refused();
  return jsonResponse({ location: onward.location }, onward.setCookies);
};

export const postNewPasskeyOptions: Handler = async (exchange) => {
  const { linkToken } = await readBody(exchange, newOptionsBody);
  if (linkToken === undefined) {
    const { account } = await requireSignedIn(exchange);
    const { userId, email, name, passkeys, passkeyHandle: userHandle } = account;
    const known = passkeys.map((each) => each.id);
    const ceremony = { kind: 'register', userId } as const;
    return jsonResponse(await creationOptions(exchange, { ceremony, userHandle, email, name, known }));
  }
  const link = await exchange.directory.showLink({ token: linkToken, purpose: 'sign_up' });
  if (link === null) throw linkGone();
  const { email, name } = link;
  const ceremony = { kind: 'sign_up', linkToken } as const;
  const userHandle = handleOfLink(linkToken);
  return jsonResponse(await creationOptions(exchange, { ceremony, userHandle, email, name, known: [] }));
};

export const postNewPasskey: Handler = async (exchange) => {
  const { credential: response, name, linkToken } = await readBody(exchange, newPasskeyBody);
  const client = clientLabel(exchange.request.headers.get('user-agent')) ?? NAME_DEFAULT;
  if (linkToken !== undefined) {
    const ceremony = { kind: 'sign_up', linkToken } as const;
    const made = await verifyRegistration(exchange, { response, ceremony, name: client });
    if (made === null) throw refused();
    const credential = { kind: 'passkey', ...made, userHandle: handleOfLink(linkToken) } as const;
    const named = name === undefined ? {} : { name: name.trim() };
    const onward = await finishSignUp(exchange, { token: linkToken, credential, ...named });
    return jsonResponse({ location: onward.location }, onward.setCookies);
  }
  const signedIn = await requireSignedIn(exchange);
  const { account } = signedIn;
  const made = await verifyRegistration(exchange, {
    response,
    ceremony: { kind: 'register', userId: account.userId },
    name: name?.trim() || client,
  });
  if (made === null) throw refused();
  await exchange.directory.addPasskey({ ...holderOf(exchange, signedIn), ...made });
  notifyAccount(exchange, account, 'passkey_added');
  return jsonResponse({ location: SECURITY_PATH }, [noticeCookie(exchange, 'passkey_added')]);
};

const rename: AccountHandler<'id' | 'name'> = async (exchange, signedIn, { id, name }) => {
  const renaming = { ...holderOf(exchange, signedIn), id, name: name.trim() };
  const renamed = await orRefusal(exchange, exchange.directory.renamePasskey(renaming));
  if ('refusal' in renamed) return conflicting(exchange, signedIn, renamed.refusal);
  return doneAt(exchange, 'passkey_renamed');
};

const remove: AccountHandler<'id'> = async (exchange, signedIn, { id }) => {
  const removed = await orRefusal(
    exchange,
    exchange.directory.removePasskey({ ...holderOf(exchange, signedIn), id }),
  );
  if (removed !== null) return conflicting(exchange, signedIn, removed.refusal);
  notifyAccount(exchange, signedIn.account, 'passkey_removed');
  return doneAt(exchange, 'passkey_removed');
};

export const postPasskeyRename = forFreshlySignedInForm(['id', 'name'], rename);
export const postPasskeyRemove = forFreshlySignedInForm(['id'], remove);

async function readBody<S extends z.ZodType>(exchange: Exchange, schema: S): Promise<z.output<S>> {
  return parseInput('The body', schema, await readJson(exchange.request));
}

/** Returns the signed-in user who confirms; null for a sign-in. */
async function confirming(exchange: Exchange, confirm: true | undefined): Promise<SignedIn | null> {
  return confirm === undefined ? null : requireSignedIn(exchange, { stale: true });
}

function ceremonyOf(signedIn: SignedIn | null): Ceremony {
  return signedIn === null ? { kind: 'sign_in' } : { kind: 'confirm', userId: signedIn.account.userId };
}

/** Returns the user handle of an account that has no id yet. It does not reveal the link. */
function handleOfLink(linkToken: string): string {
  return createHash('sha256').update(`passkey handle of a sign-up ${linkToken}`).digest('base64url');
}

function refused(): PlatformError {
  return refusal('forbidden', 'passkey_refused', 'This passkey was not accepted.');
}

function linkGone(): PlatformError {
  return refusal('not_found', 'link_unknown', 'This link no longer works. Ask for a new one.');
}
