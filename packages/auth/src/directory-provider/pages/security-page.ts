/** The account page, on which a user sees and changes their credentials and ends their sessions. */
import type { AccountSecurity, Passkey } from '../../accounts/contract.ts';
import type { ListedSession } from '../../sessions/operations.ts';
import { alert, chosen, day, field, form, hidden, newPasswordField, notice } from './fields.ts';
import { type Html, html } from './html.ts';
import type { PageContent } from './layout.ts';
import { authUrl, SECURITY_PATH } from './paths.ts';
import { noScript } from './sign-in-pages.ts';

export interface SecurityFault {
  readonly section: 'name' | 'email' | 'password' | 'delete';
  readonly message: string;
  readonly typed?: string;
}

export interface SecurityPage {
  readonly account: AccountSecurity;
  readonly sessions: readonly ListedSession[];
  readonly currentSid: string;
  /** Whether the holder proved their identity recently, so that no confirmation is needed. */
  readonly fresh: boolean;
  readonly notice?: string | undefined;
  readonly alert?: string;
  readonly fault?: SecurityFault;
}

export function securityPage(page: SecurityPage): PageContent {
  const { fresh, fault } = page;
  return {
    heading: 'Sign-in and security',
    wide: true,
    failed: fault !== undefined || page.alert !== undefined,
    body: html`${notice(page.notice)}${alert(page.alert)}${
      !fresh &&
      html`<p class="notice">To change how you sign in, <a href="${authUrl('confirm', { returnTo: SECURITY_PATH })}">confirm that it is you</a> first.</p>`
    }
${profileSection(page)}
${emailSection(page)}
${passwordSection(page)}
${passkeysSection(page)}
${twoStepSection(page)}
${sessionsSection(page)}
${deleteSection(page)}
<p class="actions"><a class="button plain" href="${authUrl('logout')}">Sign out</a></p>`,
  };
}

function profileSection({ account, fault }: SecurityPage): Html {
  const wrong = fault?.section === 'name' ? fault : undefined;
  return section(
    'Name',
    form(
      authUrl('security/name'),
      html`${field({
        name: 'name',
        label: 'Name',
        autocomplete: 'name',
        value: wrong?.typed ?? account.name,
        required: false,
        maxLength: 100,
        fault: wrong?.message,
        autofocus: wrong !== undefined,
      })}
<p class="actions"><button class="button plain">Save the name</button></p>`,
    ),
  );
}

function emailSection({ account, fresh, fault }: SecurityPage): Html {
  const wrong = fault?.section === 'email' ? fault : undefined;
  return section(
    'E-mail address',
    html`<p>${chosen(account.email)}${account.emailVerified ? ' (confirmed)' : ' (not confirmed)'}</p>${
      fresh &&
      form(
        authUrl('security/email'),
        html`${field({
          name: 'email',
          label: 'New address',
          type: 'email',
          inputmode: 'email',
          autocomplete: 'email',
          value: wrong?.typed,
          hint: 'We send a link to it. Nothing changes until you follow the link.',
          fault: wrong?.message,
          autofocus: wrong !== undefined,
        })}
<p class="actions"><button class="button plain">Change the address</button></p>`,
      )
    }`,
  );
}

function passwordSection({ account, fresh, fault }: SecurityPage): Html {
  const { passwordChangedMs, email } = account;
  const wrong = fault?.section === 'password' ? fault : undefined;
  return section(
    'Password',
    html`<p>${passwordChangedMs === null ? 'Your account has no password.' : html`Set on ${day(passwordChangedMs)}.`}</p>${
      fresh &&
      form(
        authUrl('security/password'),
        html`${newPasswordField({ email, fault: wrong?.message, prefix: 'new-' })}
<p class="actions"><button class="button plain">${passwordChangedMs === null ? 'Set a password' : 'Change the password'}</button></p>
<p class="hint">All other sessions of your account are ended with it. Passkeys stay: remove those below that you do not know.</p>`,
      )
    }`,
  );
}

function passkeysSection({ account, fresh }: SecurityPage): Html {
  const { passkeys } = account;
  return section(
    html`<span id="passkeys">Passkeys</span>`,
    html`${
      passkeys.length === 0
        ? html`<p>You have none. A passkey signs you in with your fingerprint, your face or the lock of your device.</p>`
        : html`<ul class="items">${passkeys.map((passkey) => passkeyItem(passkey, fresh))}</ul>`
    }${
      fresh &&
      html`<div class="passkey" data-passkey="register" data-name-from="passkey-name" hidden>
${field({ name: 'passkey-name', label: 'Name of the new passkey (optional)', autocomplete: 'off', required: false, maxLength: 100 })}
<p class="fault" role="alert" data-fault></p>
<p class="actions"><button type="button" class="button plain">Add a passkey</button></p>
</div>
${noScript('Adding a passkey needs JavaScript.')}`
    }`,
  );
}

function passkeyItem({ id, name, backedUp, createdMs, usedMs }: Passkey, fresh: boolean): Html {
  return html`<li><p><strong>${chosen(name)}</strong> <span class="hint">added on ${day(createdMs)}${
    usedMs === null ? '' : html`, last used on ${day(usedMs)}`
  }${backedUp ? ', kept in more than one device' : ''}</span></p>${
    fresh &&
    html`<div class="row">${form(
      authUrl('security/passkeys/rename'),
      html`${hidden('id', id)}${field({ name: 'name', prefix: `${id}-`, label: 'New name', autocomplete: 'off', value: name, maxLength: 100 })}
<p class="actions"><button class="button plain">Rename<span class="hidden"> ${name}</span></button></p>`,
    )}${form(
      authUrl('security/passkeys/remove'),
      html`${hidden('id', id)}<p class="actions"><button class="button plain">Remove<span class="hidden"> ${name}</span></button></p>`,
    )}</div>`
  }</li>`;
}

function twoStepSection({ account, fresh }: SecurityPage): Html {
  const { totp, recoveryCodes } = account;
  const button = (action: string, label: string) =>
    form(authUrl(action), html`<p class="actions"><button class="button plain">${label}</button></p>`);
  return section(
    'Two-step verification',
    html`<p>${
      totp
        ? `On: signing in with your password asks for a code as well. You have ${recoveryCodes} recovery codes left.`
        : 'Off. With it, signing in with your password asks for a code from an app as well.'
    }</p>${
      fresh &&
      (totp
        ? html`<div class="row">${button('security/recovery-codes', 'Make new recovery codes')}${button('security/totp/disable', 'Turn off')}</div>`
        : button('security/totp', 'Turn on'))
    }`,
  );
}

function deleteSection({ account, fresh, fault }: SecurityPage): Html {
  const wrong = fault?.section === 'delete' ? fault : undefined;
  return section(
    'Delete your account',
    html`<p>Afterwards it can no longer be used to sign in, and it cannot be restored. The records of your work here stay.</p>${
      fresh &&
      form(
        authUrl('security/delete'),
        html`${field({
          name: 'email',
          prefix: 'delete-',
          label: `Type ${account.email} to confirm`,
          type: 'email',
          inputmode: 'email',
          autocomplete: 'off',
          value: wrong?.typed,
          fault: wrong?.message,
          autofocus: wrong !== undefined,
        })}
<p class="actions"><button class="button plain">Delete my account</button></p>`,
      )
    }`,
  );
}

function section(heading: string | Html, content: Html): Html {
  return html`<section>
<h2>${heading}</h2>
${content}
</section>`;
}

function sessionsSection({ sessions, currentSid }: SecurityPage): Html {
  return section(
    'Where you are signed in',
    html`<ul class="items">${sessions.map((session) => sessionItem(session, session.sid === currentSid))}</ul>
${form(authUrl('security/sessions/end-all'), html`<p class="actions"><button class="button plain">Sign out everywhere</button></p>`)}`,
  );
}

function sessionItem({ sid, client, startedMs }: ListedSession, current: boolean): Html {
  const label = client ?? 'Unknown browser';
  return html`<li class="row"><p><strong>${label}</strong>${current && ' (this one)'} <span class="hint">since ${day(startedMs)}</span></p>${form(
    authUrl('security/sessions/end'),
    html`${hidden('sid', sid)}<p class="actions"><button class="button plain">Sign out<span class="hidden"> ${label}</span></button></p>`,
  )}</li>`;
}
