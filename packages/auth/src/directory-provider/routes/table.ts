/** Every address of the provider, and what it takes. */
import type { Handler } from '../lib/context.ts';
import { showScript, showStyle } from './assets.ts';
import { postConfirm, showConfirm } from './confirm.ts';
import { postEmailFinish, postEmailRevert, showEmailFinish, showEmailRevert } from './email.ts';
import { postLogin, showLogin } from './login.ts';
import { logout } from './logout.ts';
import {
  postNewPasskey,
  postNewPasskeyOptions,
  postPasskeyOptions,
  postPasskeyRemove,
  postPasskeyRename,
  postPasskeyVerify,
} from './passkeys.ts';
import { postReset, postResetFinish, showReset, showResetFinish } from './reset.ts';
import { postSecondFactor, showSecondFactor } from './second-factor.ts';
import { postDelete, postEmail, postName, postPassword, showSecurity } from './security.ts';
import { postSessionEnd, postSessionsEndAll } from './sessions.ts';
import { postSignUp, postSignUpFinish, showSignUp, showSignUpFinish } from './sign-up.ts';
import { postRecoveryCodes, postTotp, postTotpDisable, postTotpEnable } from './two-step.ts';

export interface Route {
  readonly GET?: Handler;
  readonly POST?: Handler;
  /** True where our script asks: it takes and answers JSON. */
  readonly json?: true;
  /** True when a GET changes something, so that it is not to be tried out with a HEAD. */
  readonly unsafe?: true;
}

/** By what follows `/api/auth/`. */
export const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['login', { GET: showLogin, POST: postLogin }],
  ['login/second-factor', { GET: showSecondFactor, POST: postSecondFactor }],
  ['sign-up', { GET: showSignUp, POST: postSignUp }],
  ['sign-up/finish', { GET: showSignUpFinish, POST: postSignUpFinish }],
  ['reset', { GET: showReset, POST: postReset }],
  ['reset/finish', { GET: showResetFinish, POST: postResetFinish }],
  ['email/finish', { GET: showEmailFinish, POST: postEmailFinish }],
  ['email/revert', { GET: showEmailRevert, POST: postEmailRevert }],
  ['confirm', { GET: showConfirm, POST: postConfirm }],
  ['logout', { GET: logout, unsafe: true }],
  ['security', { GET: showSecurity }],
  ['security/name', { POST: postName }],
  ['security/email', { POST: postEmail }],
  ['security/password', { POST: postPassword }],
  ['security/delete', { POST: postDelete }],
  ['security/totp', { POST: postTotp }],
  ['security/totp/enable', { POST: postTotpEnable }],
  ['security/totp/disable', { POST: postTotpDisable }],
  ['security/recovery-codes', { POST: postRecoveryCodes }],
  ['security/passkeys/rename', { POST: postPasskeyRename }],
  ['security/passkeys/remove', { POST: postPasskeyRemove }],
  ['security/sessions/end', { POST: postSessionEnd }],
  ['security/sessions/end-all', { POST: postSessionsEndAll }],
  ['passkey/options', { POST: postPasskeyOptions, json: true }],
  ['passkey/verify', { POST: postPasskeyVerify, json: true }],
  ['passkeys/options', { POST: postNewPasskeyOptions, json: true }],
  ['passkeys', { POST: postNewPasskey, json: true }],
  ['client.js', { GET: showScript }],
  ['style.css', { GET: showStyle }],
]);
