/** What our script asks for when somebody uses a passkey or makes one, and what is done with those there are. */
import { PlatformError, parseInput } from '@freehold/contracts';
import { z } from 'zod';
import { clientLabel } from '../../sessions/client-label.ts';
import type { Exchange, Handler, ProviderContext } from '../context.ts';
import { orRefusal } from '../form-answers.ts';
import { readForm, readJson } from '../request-body.ts';
import { jsonResponse } from '../responses.ts';
import { authUrl, returnPath } from '../return-path.ts';
import { goOn } from '../sign-in.ts';
import { type AccountHandler, forFreshlySignedIn, requireSignedIn } from '../signed-in.ts';
import { creationOptions, requestOptions, verifyAssertion, verifyRegistration } from '../webauthn.ts';
import { assertionJson, registrationJson } from '../webauthn-json.ts';
import { doneAt } from './security.ts';
import { finishSignUp } from './sign-up.ts';
import { conflicting, tell } from './two-step.ts';

/** `confirm`: not to sign in, but to prove once more who one is. */
const optionsBody = z.strictObject({ confirm: z.literal(true).optional() });
const verifyBody = z.strictObject({
  credential: assertionJson,
  confirm: z.literal(true).optional(),
  returnTo: z.string().max(2_000).optional(),
});
/** `linkToken`: the sign-up that the passkey is for; absent: the account that is signed in. */
const newOptionsBody = z.strictObject({ linkToken: z.string().max(100).optional() });
const newPasskeyBody = z.strictObject({
  credential: registrationJson,
  /** Of the passkey; of the account when it is for a sign-up. */
  name: z.string().max(1_000).optional(),
  linkToken: z.string().max(100).optional(),
});

const NAME_DEFAULT = 'Passkey';

export const postPasskeyOptions: Handler = async (context, exchange) => {
  const { confirm } = await readBody(exchange, optionsBody);
  return jsonResponse(await requestOptions(context, exchange, await holderOf(context, exchange, confirm)));
};

export const postPasskeyVerify: Handler = async (context, exchange) => {
  const { credential, confirm, returnTo } = await readBody(exchange, verifyBody);
  const startedMs = context.now();
  const userId = await holderOf(context, exchange, confirm);
  const verified = await verifyAssertion(context, exchange, { response: credential, userId });
  if (verified === null) throw refused();
  const { passkey, counter, backedUp } = verified;
  const step = await context.directory.finishPasskey({
    ...exchange.attempt,
    id: passkey.id,
    counter,
    backedUp,
  });
  const onward = await goOn(context, exchange, { step, startedMs, returnTo: returnPath(returnTo) });
  if (onward === null) throw refused();
  return jsonResponse({ location: onward.location }, onward.setCookies);
};

export const postNewPasskeyOptions: Handler = async (context, exchange) => {
  const { linkToken } = await readBody(exchange, newOptionsBody);
  if (linkToken === undefined) {
    const { account } = await requireSignedIn(context, exchange);
    const { userId, email, name, passkeys } = account;
    const known = passkeys.map((each) => each.id);
    return jsonResponse(await creationOptions(context, exchange, { holder: { userId }, email, name, known }));
  }
  const link = await context.directory.showLink({ token: linkToken, purpose: 'sign_up' });
  if (link === null) throw linkGone();
  return jsonResponse(
    await creationOptions(context, exchange, { ...link, holder: { linkToken }, known: [] }),
  );
};

export const postNewPasskey: Handler = async (context, exchange) => {
  const { credential: response, name, linkToken } = await readBody(exchange, newPasskeyBody);
  const client = clientLabel(exchange.request.headers.get('user-agent')) ?? NAME_DEFAULT;
  if (linkToken !== undefined) {
    const holder = { linkToken };
    const passkey = await verifyRegistration(context, exchange, { response, holder, name: client });
    if (passkey === null) throw refused();
    const signUp = { token: linkToken, credential: { kind: 'passkey', passkey } } as const;
    const named = name === undefined ? {} : { name: name.trim() };
    const onward = await finishSignUp(context, exchange, { ...signUp, ...named });
    return jsonResponse({ location: onward.location }, onward.setCookies);
  }
  const signedIn = await requireSignedIn(context, exchange);
  const holder = { userId: signedIn.account.userId };
  const passkey = await verifyRegistration(context, exchange, {
    response,
    holder,
    name: name?.trim() || client,
  });
  if (passkey === null) throw refused();
  await context.directory.addPasskey({ scopeId: context.scopeId, ...holder, passkey });
  tell(context, exchange, signedIn, 'passkey_added');
  return jsonResponse({ location: authUrl('security', { done: 'passkey_added' }) });
};

const rename: AccountHandler = async (context, exchange, signedIn) => {
  const { id, name } = await readForm(exchange.request, ['id', 'name']);
  const renaming = context.directory.renamePasskey({
    userId: signedIn.account.userId,
    id,
    name: name.trim(),
  });
  const renamed = await orRefusal(renaming);
  if ('refusal' in renamed) return conflicting(context, exchange, signedIn, renamed.refusal);
  return doneAt('passkey_renamed');
};

const remove: AccountHandler = async (context, exchange, signedIn) => {
  const { id } = await readForm(exchange.request, ['id']);
  const { userId } = signedIn.account;
  const removed = await orRefusal(context.directory.removePasskey({ scopeId: context.scopeId, userId, id }));
  if (removed !== null) return conflicting(context, exchange, signedIn, removed.refusal);
  tell(context, exchange, signedIn, 'passkey_removed');
  return doneAt('passkey_removed');
};

export const postPasskeyRename = forFreshlySignedIn(rename);
export const postPasskeyRemove = forFreshlySignedIn(remove);

async function readBody<S extends z.ZodType>(exchange: Exchange, schema: S): Promise<z.output<S>> {
  return parseInput('The body', schema, await readJson(exchange.request));
}

/** Whose passkey it must be: somebody who confirms is known, somebody who signs in is not. */
async function holderOf(
  context: ProviderContext,
  exchange: Exchange,
  confirm: true | undefined,
): Promise<string | undefined> {
  if (confirm === undefined) return undefined;
  return (await requireSignedIn(context, exchange, { stale: true })).account.userId;
}

/** The same for every reason there is. */
function refused(): PlatformError {
  return new PlatformError('forbidden', 'This passkey was not accepted.', { reason: 'passkey_refused' });
}

function linkGone(): PlatformError {
  return new PlatformError('not_found', 'This link no longer works. Ask for a new one.', {
    reason: 'link_unknown',
  });
}
